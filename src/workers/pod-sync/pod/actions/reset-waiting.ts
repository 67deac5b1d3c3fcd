/** Forgets the waiting reasons of earlier syncs. The actions after this one determine which containers wait now. */
import { podActionType } from './pod-action-type.ts';

export const resetWaitingAction = podActionType({
  type: 'ResetWaiting',
  waitsForVolumes: false,
  // One action, which needs no data: the text is not read.
  list: () => ['all containers'],
  execute: async ({ report }) => {
    report.resetWaiting();
    return 'continue';
  },
});
