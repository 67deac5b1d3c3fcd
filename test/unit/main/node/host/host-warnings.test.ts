import assert from 'node:assert/strict';
import { hostWarnings, type HostWarningInputs } from '../../../../../src/main/node/host/host-warnings.ts';
import { table } from '../../../../support/table.ts';

const well: HostWarningInputs = { cgroupVersion: 2, setupProblem: null, isSwapOn: false, supportsNoswap: false, resolvConfProblem: null };
const cases: readonly [name: string, traits: Partial<HostWarningInputs>, want: string[]][] = [
  ['without problems', {}, []],
  ['that could not be set up', { setupProblem: 'error configuring root directory' }, ['KubeletSetupFailed']],
  ['with cgroup v1', { cgroupVersion: 1 }, ['CgroupV1']],
  ['with swap and without noswap', { isSwapOn: true }, ['PossibleMemoryBackedVolumesOnDisk']],
  ['with swap and noswap', { isSwapOn: true, supportsNoswap: true }, []],
  ['with a resolv.conf beyond the limits of pods', { resolvConfProblem: 'too long' }, ['CheckLimitsForResolvConf']],
];
table('problems of the host are warning events', (row) => {
  for (const [name, traits, want] of cases) {
    row(`a host ${name}`, () => {
      const events = hostWarnings('node-1', { ...well, ...traits });
      assert.deepEqual(
        events.map(({ reason }) => reason),
        want,
      );
      assert.ok(events.every(({ object, type }) => object.kind === 'Node' && object.uid === 'node-1' && type === 'Warning'));
    });
  }
});
