import assert from 'node:assert/strict';
import { withTerminationReason } from '../../../../../src/main/pods/api-status/termination-reason.ts';
import { aContainer } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const cases: { name: string; exitCode: number; isInit?: boolean; isSidecar?: boolean; reason?: string; want: string }[] = [
  { name: 'killed for lack of memory', exitCode: 137, want: 'OOMKilled' },
  { name: 'that failed because a process lacked memory', exitCode: 1, want: 'OOMKilled' },
  { name: 'that ended by SIGTERM', exitCode: 143, want: 'Error' },
  { name: 'that ended with success', exitCode: 0, want: 'Completed' },
  { name: 'that is an init container and ended with success', exitCode: 0, isInit: true, want: 'OOMKilled' },
  { name: 'that is a sidecar and ended with success', exitCode: 0, isInit: true, isSidecar: true, want: 'Completed' },
  { name: 'with another reason', exitCode: 143, reason: 'StartError', want: 'StartError' },
];
table('the reason of a container', (row) => {
  for (const { name, exitCode, isInit = false, isSidecar = false, reason = 'OOMKilled', want } of cases) {
    row(`the reason of a container ${name}`, () => {
      const container = aContainer(isSidecar ? { restartPolicy: 'Always' } : {});
      const shown = withTerminationReason({ terminated: { exitCode, reason, message: 'm' } }, container, isInit);
      assert.deepEqual(shown, { terminated: { exitCode, reason: want, message: 'm' } });
    });
  }
});
