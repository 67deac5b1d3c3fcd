import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { operationType } from '../../../../src/shared/cri/count-calls.ts';
import { table } from '../../../support/table.ts';

/** Calls with upstream's operation_type. */
const cases: [string, string][] = [
  ['Version', 'version'],
  ['RunPodSandbox', 'run_podsandbox'],
  ['ListPodSandbox', 'list_podsandbox'],
  ['StreamPodSandboxes', 'list_podsandbox'],
  ['PodSandboxStatus', 'podsandbox_status'],
  ['UpdatePodSandboxResources', 'update_podsandbox_resources'],
  ['ListContainers', 'list_containers'],
  ['StreamContainers', 'list_containers'],
  ['UpdateContainerResources', 'update_container'],
  ['ExecSync', 'exec_sync'],
  ['ImageFsInfo', 'image_fs_info'],
  ['GetContainerEvents', 'get_container_events'],
  ['ListPodSandboxMetrics', 'list_podsandbox_metrics'],
];
suite('a runtime call is counted under the name of its operation', () => {
  table('a runtime call is counted under upstream’s operation type', (row) => {
    for (const [call, want] of cases) row(`${call}: ${want}`, () => assert.equal(operationType(call), want));
  });
});
