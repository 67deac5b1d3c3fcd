import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpSource } from '../../../../src/main/sources/http-source.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aManifest, decodeInMain, type Json } from '../../../support/pods/manifest-samples.ts';

/** A source with scripted responses: a body, or an error. */
function aSource() {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const reports: string[][] = [];
  const events: string[] = [];
  const server: { answer: string | Error; decoded: number } = { answer: '', decoded: 0 };
  const source = HttpSource.start({
    url: 'http://user:secret@host/pods',
    headers: {},
    nodeName: 'node-1',
    checkFrequencyMs: 20_000,
    fetchManifest: async () => {
      if (server.answer instanceof Error) throw server.answer;
      return new TextEncoder().encode(server.answer);
    },
    decode: async (request) => {
      server.decoded += 1;
      return decodeInMain(request);
    },
    onPods: (pods: readonly Pod[]) => reports.push(pods.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`)),
    onEvent: ({ object, reason, message }) => events.push(`${reason} ${object.name}: ${message}`),
    clock,
    logger,
  });
  const poll = async (answer: string | Json | Error) => {
    server.answer = typeof answer === 'string' || answer instanceof Error ? answer : JSON.stringify(answer);
    await clock.advance(20_000);
  };
  return { source, reports, events, server, poll, lines };
}
const named = (name: string, image = 'x') => aManifest({ metadata: { name }, container: { image } });
const list = (...items: Json[]) => ({ apiVersion: 'v1', kind: 'PodList', items });

test('an unchanged pod is decoded once', async () => {
  const { source, reports, server, poll } = aSource();
  await poll(named('a'));
  await poll(named('a'));
  assert.deepEqual(reports.at(-1), ['a-node-1 x']);
  assert.equal(server.decoded, 1);
  assert.deepEqual(source.errors(), []);
  await source.close();
});

test('an unreachable URL removes no pod', async () => {
  const { source, reports, poll } = aSource();
  await poll(named('a'));
  await poll(new Error('connect ECONNREFUSED'));
  assert.deepEqual(reports.at(-1), ['a-node-1 x']);
  assert.deepEqual(source.errors(), [{ source: 'http', origin: 'http://host/pods', message: 'connect ECONNREFUSED' }]);
  await source.close();
});

test('an empty response removes all pods and is an error', async () => {
  const { source, reports, poll } = aSource();
  await settle();
  assert.deepEqual(reports, [[]]);
  await poll(named('a'));
  await poll('');
  assert.deepEqual(reports.at(-1), []);
  assert.match(source.errors()[0]?.message ?? '', /^zero-length data received from http:\/\/host\/pods$/);
  await poll(named('a'));
  assert.deepEqual(reports.at(-1), ['a-node-1 x']);
  await source.close();
});

test('an invalid response removes no pod and is an error until it changes', async () => {
  const { source, reports, events, poll } = aSource();
  await poll(named('a'));
  await poll('kind: Pod: no');
  await poll('kind: Pod: no');
  assert.deepEqual(reports.at(-1), ['a-node-1 x']);
  assert.equal(source.errors().length, 1);
  assert.equal(events.length, 1);
  assert.match(events[0] ?? '', /^FailedValidation a-node-1: Manifest http:\/\/host\/pods is not valid, the pod is kept as it was: ./);
  await poll(named('a'));
  assert.deepEqual(source.errors(), []);
  await source.close();
});

test('a partly invalid list adds and changes pods but removes none', async () => {
  const { source, reports, events, poll } = aSource();
  await poll(list(named('a'), named('b')));
  await poll(list(named('a', 'y'), named('b', ''), named('c')));
  assert.deepEqual(reports.at(-1), ['a-node-1 y', 'c-node-1 x', 'b-node-1 x']);
  assert.deepEqual(
    events.map((event) => event.split(':')[0]),
    ['FailedValidation b-node-1'],
  );
  await poll(list(named('c')));
  assert.deepEqual(reports.at(-1), ['c-node-1 x']);
  await source.close();
});

test('the first failures are logged as warnings, later ones at debug level, and the next success is logged', async () => {
  const { source, poll, lines } = aSource();
  for (let failure = 0; failure < 6; failure += 1) await poll(new Error('no'));
  await poll(named('a'));
  const levels = lines.filter(({ msg }) => msg.startsWith('Failed')).map(({ level }) => level);
  assert.deepEqual(levels, [40, 40, 40, 40, 20, 20, 20]);
  assert.equal(lines.at(-1)?.msg, 'Successfully read pods from URL');
  assert.ok(!JSON.stringify(lines).includes('secret'));
  await source.close();
});
