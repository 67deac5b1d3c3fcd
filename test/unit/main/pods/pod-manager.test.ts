import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodManager } from '../../../../src/main/pods/pod-manager.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { aPod } from '../../../support/pods.ts';

const aStatic = (uid: string) => aPod({ metadata: { name: 'web', uid, annotations: { 'kubernetes.io/config.source': 'file' } } });
const aMirror = (uid: string) =>
  aPod({ metadata: { name: 'web', uid, annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'h' } } });
const anApiPod = () => aPod({ metadata: { name: 'job', uid: 'job', annotations: { 'kubernetes.io/config.source': 'api' } } });
const uid = (value: string) => value as PodUID;

test('mirror pods are kept apart from pods', () => {
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

test('a static pod and its mirror lead to each other by name', () => {
  const pods = new PodManager();
  for (const pod of [aMirror('mirror'), aStatic('static'), anApiPod()]) pods.set(pod);
  assert.equal(pods.mirrorOf(aStatic('static'))?.metadata.uid, 'mirror');
  assert.equal(pods.mirrorOf(anApiPod()), undefined);
  assert.equal(pods.translatePodUID(uid('mirror')), 'static');
  assert.equal(pods.translatePodUID(uid('job')), 'job');
  pods.remove(uid('static'));
  assert.equal(pods.translatePodUID(uid('mirror')), 'mirror');
});

test('of two pods of a name the newer one keeps it when the older one goes', () => {
  const pods = new PodManager();
  for (const pod of [aStatic('old'), aMirror('mirror-1'), aStatic('new'), aMirror('mirror-2')]) pods.set(pod);
  pods.remove(uid('old'));
  pods.remove(uid('mirror-1'));
  assert.equal(pods.getByFullName('web_default')?.metadata.uid, 'new');
  assert.equal(pods.getMirrorByFullName('web_default')?.metadata.uid, 'mirror-2');
});

test('a static pod has its name again when a pod of the API server that had taken it is gone', () => {
  const pods = new PodManager();
  const taker = aPod({ metadata: { name: 'web', uid: 'taker', annotations: { 'kubernetes.io/config.source': 'api' } } });
  for (const pod of [aStatic('static'), taker]) pods.set(pod);
  assert.equal(pods.getByFullName('web_default')?.metadata.uid, 'taker');
  pods.remove(uid('taker'));
  assert.equal(pods.getByFullName('web_default')?.metadata.uid, 'static');
});

test('who listens hears of every change after it was made', () => {
  const pods = new PodManager();
  const heard: string[] = [];
  pods.onChange((pod, change) =>
    heard.push(`${change} ${pod.metadata.uid} ${pods.get(uid(pod.metadata.uid)) ? 'is there' : 'is not there'}`),
  );
  pods.set(anApiPod());
  pods.remove(uid('job'));
  pods.remove(uid('job'));
  assert.deepEqual(heard, ['set job is there', 'removed job is not there']);
});
