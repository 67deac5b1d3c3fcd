import assert from 'node:assert/strict';
import { ownerOf } from '../../../lab/guest/guest-folders.ts';
import { findObstacle } from '../../../lab/guest/install.ts';
import { table } from '../../support/table.ts';

table('a host without what a guest needs is named', (row) => {
  const able = { platform: 'linux', arch: 'x64', uid: 0, ptraceScope: 0 };
  row('an able host', () => assert.equal(findObstacle(able), undefined));
  row('ptrace by administrators', () => assert.equal(findObstacle({ ...able, ptraceScope: 2 }), undefined));
  row('no ptrace', () => assert.match(findObstacle({ ...able, ptraceScope: 3 }) ?? '', /ptrace_scope/));
  row('an ordinary user', () => assert.match(findObstacle({ ...able, uid: 1000 }) ?? '', /root/));
  row('another architecture', () => assert.match(findObstacle({ ...able, arch: 'arm64' }) ?? '', /x86-64/));
  row('another system', () => assert.match(findObstacle({ ...able, platform: 'darwin' }) ?? '', /Linux/));
});

table('a guest’s folder has the pid of its owner', (row) => {
  row('a guest’s folder', () => assert.equal(ownerOf('kubelet-guest-4711-a1B2c3'), 4711));
  row('another folder', () => assert.equal(ownerOf('kubelet-guest-notes'), undefined));
  row('a folder below', () => assert.equal(ownerOf('kubelet-guest-4711-a1B2c3/exchange'), undefined));
});
