import assert from 'node:assert/strict';
import {
  checkIDRange,
  defaultIDRange,
  parseSubordinateIDs,
  type IDRange,
} from '../../../../../src/main/allocation/user-namespaces/id-range.ts';
import { table } from '../../../../support/table.ts';

const outputs: readonly [name: string, output: string, want: IDRange | RegExp][] = [
  ['one range', '0: kubelet 65536 2147483648\n', { firstID: 65536, length: 2147483648 }],
  ['more spaces', '\n0:  kubelet\t65536  65536\n\n', { firstID: 65536, length: 65536 }],
  ['two ranges', '0: kubelet 65536 65536\n1: kubelet 131072 65536\n', /must contain only one line/],
  ['nothing', '', /^Error: invalid line ""$/],
  ['no length', '0: kubelet 65536\n', /invalid line/],
  ['a negative ID', '0: kubelet -65536 65536\n', /error parsing line .*-65536 is no ID/],
  ['more than 32 bits', '0: kubelet 4294967296 65536\n', /4294967296 is no ID/],
  ['a number in hex', '0: kubelet 0x10000 65536\n', /0x10000 is no ID/],
];

table('the output of getsubids is read strictly', (row) => {
  for (const [name, output, want] of outputs) {
    row(name, () => {
      if (want instanceof RegExp) assert.throws(() => parseSubordinateIDs(output), want);
      else assert.deepEqual(parseSubordinateIDs(output), want);
    });
  }
});

const unit = 65536;
const ranges: readonly [name: string, firstID: number, length: number, idsPerPod: number, maxPods: number, want: RegExp | null][] = [
  ['the default', unit, 2 ** 32 - unit, unit, 110, null],
  ['exactly enough', unit, unit * 110, unit, 110, null],
  ['too few for all pods', unit, unit * 109, unit, 110, /are not enough to support 110 pods/],
  ['the host’s own users', 0, unit * 200, unit, 110, /assigned ID 0 must be greater or equal to 65536/],
  ['a first ID between two ranges', 100_000, unit * 200, unit, 110, /assigned ID 100000 is not a multiple of 65536/],
  ['a length between two ranges', unit, unit * 200 + 1, unit, 110, /length 13107201 is not a multiple of 65536/],
  ['larger ranges', unit * 4, unit * 4 * 110, unit * 4, 110, null],
  ['a first ID below a larger range', unit * 2, unit * 4 * 110, unit * 4, 110, /is not a multiple of 262144/],
  ['a length that is no multiple of the unit', 70_000, 70_000 * 200, 70_000, 110, /user namespace length 70000 is not a multiple of 65536/],
  ['up to the last ID, which the kernel does not map', 2 ** 32 - 2 * unit, 2 * unit, unit, 2, /are not enough to support 2 pods/],
  ['one range less', 2 ** 32 - 2 * unit, 2 * unit, unit, 1, null],
  ['half of all IDs for each pod', 2 ** 31, 2 ** 31, 2 ** 31, 1, /are not enough to support 1 pods/],
  ['beyond 32 bits', 2 ** 32 - unit, unit * 2, unit, 1, /more than 32 bits/],
];

table('the host’s IDs must be divisible among the pods', (row) => {
  for (const [name, firstID, length, idsPerPod, maxPods, want] of ranges) {
    row(name, () => {
      const check = () => checkIDRange({ firstID, length }, idsPerPod, maxPods);
      if (want) assert.throws(check, want);
      else assert.doesNotThrow(check);
    });
  }
  row('the default range excludes one range of IDs', () =>
    assert.deepEqual(defaultIDRange(131_072), { firstID: 131_072, length: 2 ** 32 - 131_072 }),
  );
});
