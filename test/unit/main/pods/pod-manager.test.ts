import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodManager } from '../../../../src/main/pods/pod-manager.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { aPod } from '../../../support/pods/pods.ts';

const aStatic = (uid: string) => aPod({ metadata: { name: 'web', uid, annotations: { 'kubernetes.io/config.source': 'file' } } });
const aMirror = (uid: string) =>
  aPod({ metadata: { name: 'web', uid, annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'h' } } });
const anApiPod = () => aPod({ metadata: { name: 'job', uid: 'job', annotations: { 'kubernetes.io/config.source': 'api' } } });
const uid = (value: string) => value as PodUID;

test('mirror pods are separate from pods', () => {
  const pods = new PodManager();
  for (const pod of [aStatic('static'), aMirror('mirror'), anApiPod()]) pods.set(pod);
  assert.deepEqual(
    pods.all().map(({ metadata }) => metadata.uid),
    ['static', 'job'],
  );
  assert.deepEqual([...pods.uids()], ['static', 'job']);
  assert.deepEqual(
    pods.mirrorPods().map(({ metadata }) => metadata.uid),
    ['mirror'],
  );
  assert.equal(pods.get(uid('mirror')), undefined);
});

test('a static pod and its mirror pod refer to each other by name', () => {
  const pods = new PodManager();
  for (const pod of [aMirror('mirror'), aStatic('static'), anApiPod()]) pods.set(pod);
  assert.equal(pods.mirrorOf(aStatic('static'))?.metadata.uid, 'mirror');
  assert.equal(pods.mirrorOf(anApiPod()), undefined);
  assert.equal(pods.translatePodUID(uid('mirror')), 'static');
  assert.equal(pods.translatePodUID(uid('job')), 'job');
  pods.remove(uid('static'));
  assert.equal(pods.translatePodUID(uid('mirror')), 'mirror');
});

test('the newer of two pods of a name keeps the name when the older pod is removed', () => {
  const pods = new PodManager();
  for (const pod of [aStatic('old'), aMirror('mirror-1'), aStatic('new'), aMirror('mirror-2')]) pods.set(pod);
  pods.remove(uid('old'));
  pods.remove(uid('mirror-1'));
  assert.equal(pods.getByFullName('web_default')?.metadata.uid, 'new');
  assert.equal(pods.getMirrorByFullName('web_default')?.metadata.uid, 'mirror-2');
});

test('a static pod gets its name back when a pod of the API server with the same name is removed', () => {
  const pods = new PodManager();
  const apiPod = aPod({ metadata: { name: 'web', uid: 'api', annotations: { 'kubernetes.io/config.source': 'api' } } });
  for (const pod of [aStatic('static'), apiPod]) pods.set(pod);
  assert.equal(pods.getByFullName('web_default')?.metadata.uid, 'api');
  pods.remove(uid('api'));
  assert.equal(pods.getByFullName('web_default')?.metadata.uid, 'static');
});

test('listeners are called after every change', () => {
  const pods = new PodManager();
  const changes: string[] = [];
  pods.onChange((pod, change) => changes.push(`${change} ${pod.metadata.uid} ${pods.get(uid(pod.metadata.uid)) ? 'present' : 'absent'}`));
  pods.set(anApiPod());
  pods.remove(uid('job'));
  pods.remove(uid('job'));
  assert.deepEqual(changes, ['set job present', 'removed job absent']);
});
