import assert from 'node:assert/strict';
import { readContainerAnnotations } from '../../../../../src/workers/pleg/runtime-status/container-annotations.ts';
import { table } from '../../../../support/table.ts';

const prefix = 'io.kubernetes.container.';

table('an annotation of a container is read, or reported as a problem', (row) => {
  const check = (name: 'restartCount' | 'restartBackOff', value: string, want: unknown, isValid = true) =>
    row(`${name} ${value.slice(0, 40)}`, () => {
      const read = readContainerAnnotations({ [prefix + name]: value });
      assert.deepEqual(read[name], want);
      assert.equal(read.problems.length, isValid ? 0 : 1);
    });
  check('restartCount', '0', 0);
  check('restartCount', '2147483647', 2 ** 31 - 1);
  // The API server would refuse the pod's status.
  for (const value of ['2147483648', '-1', '1e3', '', 'NaN', '9'.repeat(1000)]) check('restartCount', value, 0, false);
  check('restartBackOff', '20000 app/1f', { key: 'app/1f', backoffMs: 20_000 });
  for (const value of ['', '20000', '-1 app/1f', '1e9 app/1f', `1 ${'x'.repeat(100)}`, '1 a b', '9999999999 a']) {
    check('restartBackOff', value, undefined, false);
  }
});
