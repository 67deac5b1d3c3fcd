/** From here on, the sync determines which containers wait: the waiting reasons of earlier syncs are forgotten. */
import { podActionType } from './pod-action-type.ts';

export const resetWaitingAction = podActionType({
  type: 'ResetWaiting',
  waitsForVolumes: false,
  list: () => ['all containers'],
  execute: async ({ report }) => {
    report.resetWaiting();
    return 'continue';
  },
});
