import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerLogSymlink, containerOfLogSymlink } from '../../../../src/shared/container-logs/container-log-symlink.ts';
import type { ContainerID } from '../../../../src/shared/kubernetes/ids.ts';

const container = { podName: 'web', podNamespace: 'default', containerName: 'app', containerID: 'abcdef012345' as ContainerID };

test('a log symlink contains pod, namespace, container and ID, within the limit of a file name', () => {
  assert.equal(containerLogSymlink('/logs', container), '/logs/web_default_app-abcdef012345.log');
  const long = containerLogSymlink('/logs', { ...container, podName: 'w'.repeat(253) }).slice('/logs/'.length);
  assert.equal(long.length, 255);
  assert.ok(long.endsWith('.log'));
});

test('an ID with separators does not lead out of the folder', () => {
  const link = containerLogSymlink('/logs', { ...container, containerID: 'x/../../etc/cron.d/job' as ContainerID });
  assert.equal(link, '/logs/web_default_app-x_.._.._etc_cron.d_job.log');
});

test('the container ID is parsed from a symlink that was not truncated', () => {
  assert.equal(containerOfLogSymlink('web_default_app-abcdef012345.log'), 'abcdef012345');
  assert.equal(containerOfLogSymlink('web_default_app.log'), undefined);
});
