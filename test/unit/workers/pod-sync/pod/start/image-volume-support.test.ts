import assert from 'node:assert/strict';
import { imageVolumeProblem } from '../../../../../../src/workers/pod-sync/pod/start/image-volume-support.ts';
import { table } from '../../../../../support/table.ts';

const rows: readonly [runtimeName: string, runtimeVersion: string, isRefused: boolean][] = [
  ['containerd', '1.6.20~ds1', true],
  ['containerd', 'v1.7.24', true],
  ['containerd', '2.0.5', true],
  ['containerd', '2.1.9+unknown', false],
  ['containerd', 'v2.10.0', false],
  ['containerd', '3.0.0', false],
  ['containerd', 'a-fork', false],
  ['containerd', '', false],
  ['cri-o', '1.30.0', false],
  ['', '', false],
];

table('image volumes are refused only on a runtime that certainly lacks them', (row) => {
  for (const [runtimeName, runtimeVersion, isRefused] of rows) {
    const want = isRefused ? `image volumes need containerd 2.1 or later, this node has ${runtimeVersion}` : null;
    row(`${runtimeName} ${runtimeVersion}`, () => assert.equal(imageVolumeProblem({ runtimeName, runtimeVersion }), want));
  }
});
