/** Exec probes of the thread on the simulated runtime, which answers, delays, hangs and dies; restarts of the thread; the metrics page. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import type { ProbedPod, ProbeSpec } from '../../../src/shared/contracts/probes.ts';
import { probedContainer, probedPod, probeSpec } from '../../support/probes/probed-pod.ts';
import { startProbesThread } from '../../support/probes/probes-thread.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/runtime/simulated-runtime.ts';

const runtime = await startSimulatedRuntime({ after });
const seeded = await runtime.control.seed({ pods: 8, containersPerPod: 1 });
const harness = startProbesThread(runtime.endpoint, 1000);
after(() => harness.close());

/** Liveness of the seeded container `index`. */
function liveness(index: number, over: Partial<ProbeSpec> = {}): ProbedPod {
  const id = seeded[index]!.containerIDs[0]! as ContainerID;
  const spec = probeSpec({ type: 'exec', command: ['check', 'me'] }, { probe: 'liveness', ...over });
  return probedPod(`p${index}`, [probedContainer('c', [spec], { id })]);
}
const resultsOf = (uid: PodUID) => harness.results.filter(({ podUID }) => podUID === uid).map(({ result }) => result);
const eventsOf = (uid: PodUID) => harness.events.filter(({ podUID }) => podUID === uid).map(({ message }) => message);
const idOf = (pod: ProbedPod) => pod.containers[0]!.id;
const page = async () => new TextDecoder().decode(await harness.probes.renderMetrics('text'));

test('exit codes, output and timeouts of commands', { timeout: 30_000 }, async () => {
  const [failing, slow] = [liveness(0, { failureThreshold: 2 }), liveness(1)];
  await runtime.control.execResult(idOf(failing), { exitCode: 3, stdout: 'out', stderr: 'err' });
  await runtime.control.execResult(idOf(slow), { takesMs: 60_000 });
  await harness.probes.setPods([failing, slow]);
  await harness.until(() => resultsOf(failing.uid).length > 0 && resultsOf(slow.uid).length > 0);
  assert.deepEqual(eventsOf(failing.uid), ['Liveness probe failed: outerr', 'Liveness probe failed: outerr']);
  assert.deepEqual(eventsOf(slow.uid), ['Liveness probe failed: command timed out: "check me" timed out after 1s']);
  assert.deepEqual([...resultsOf(failing.uid), ...resultsOf(slow.uid)], ['failure', 'failure']);
  await harness.probes.removePods([failing.uid, slow.uid]);
});

test('a runtime that fails, or does not answer, fails no container', { timeout: 60_000 }, async () => {
  const pod = liveness(2);
  const fault = await runtime.control.fault({ call: 'ExecSync', id: idOf(pod), kind: 'fail', message: 'broken' });
  await harness.probes.setPods([pod]);
  await harness.until(() => eventsOf(pod.uid).length > 0);
  await runtime.control.clearFaults(fault);
  assert.match(eventsOf(pod.uid)[0]!, /^Liveness probe errored and resulted in unknown state: rpc error: code = Unavailable desc = broken/);
  const hang = await runtime.control.fault({ call: 'ExecSync', id: idOf(pod), kind: 'hang' });
  await harness.until(() => eventsOf(pod.uid).some((message) => message.endsWith('the runtime did not answer within 2 s')));
  await runtime.control.clearFaults(hang);
  assert.deepEqual(resultsOf(pod.uid), []);
  await waitUntil('the probe succeeds again', async () =>
    (await page()).includes(`pod_uid="${pod.uid}",probe_type="Liveness",result="successful"`),
  );
  await harness.probes.removePods([pod.uid]);
});

test('a command with endless output costs its pod only', { timeout: 30_000 }, async () => {
  const pod = liveness(3);
  await runtime.control.execResult(idOf(pod), { exitCode: 0, stdout: 'x'.repeat(3 * 1024 * 1024) });
  await harness.probes.setPods([pod]);
  await harness.until(() => eventsOf(pod.uid).length > 0);
  assert.match(eventsOf(pod.uid)[0]!, /^Liveness probe errored and resulted in unknown state: rpc error: code = ResourceExhausted /);
  await harness.probes.removePods([pod.uid]);
});

test('after a death of the thread main sends its pods again, and probes continue', { timeout: 30_000 }, async () => {
  const pod = liveness(4, { probe: 'readiness' });
  await harness.probes.setPods([pod]);
  await harness.until(() => resultsOf(pod.uid).length === 1);
  await harness.probes.thread.kill();
  await runtime.control.execResult(idOf(pod), { exitCode: 1 });
  const [container] = pod.containers;
  await harness.probes.setPods([
    { ...pod, containers: [{ ...container!, probes: [{ ...container!.probes[0]!, lastResult: 'success' }] }] },
  ]);
  await harness.until(() => resultsOf(pod.uid).length === 2);
  assert.deepEqual(resultsOf(pod.uid), ['success', 'failure']);
  await harness.probes.removePods([pod.uid]);
});

test('metrics of single probes end with their pod', { timeout: 30_000 }, async () => {
  const pod = liveness(5, { probe: 'readiness' });
  await harness.probes.setPods([pod]);
  const count = `prober_probe_total{container="c",namespace="default",pod="p5",pod_uid="${pod.uid}",probe_type="Readiness",result="successful"}`;
  await waitUntil('a count', async () => (await page()).includes(count));
  assert.match(await page(), /prober_probe_duration_seconds_count\{container="c",namespace="default",pod="p5",probe_type="Readiness"\} \d/);
  await harness.probes.removePods([pod.uid]);
  assert.equal((await page()).includes('pod="p5"'), false);
});

test('10,000 containers are scheduled, probed and rendered; a removal leaves nothing', { timeout: 60_000 }, async () => {
  const id = seeded[6]!.containerIDs[0]! as ContainerID;
  // The port of nobody: the answer is immediate.
  const spec = probeSpec({ type: 'tcp', host: '127.0.0.1', port: 1 }, { periodSeconds: 5, failureThreshold: 100 });
  const pods = Array.from({ length: 1000 }, (_, pod) =>
    probedPod(
      `many-${pod}`,
      Array.from({ length: 10 }, (__, index) => probedContainer(`c${index}`, [spec, { ...spec, probe: 'liveness' }], { id })),
    ),
  );
  await harness.probes.setPods(pods);
  await waitUntil(
    'all probes ran',
    async () => (await page()).split('\n').filter((line) => line.includes('many-') && line.includes('_total{')).length === 20_000,
    50_000,
  );
  await harness.probes.removePods(pods.map(({ uid }) => uid));
  assert.equal(await page(), '');
});
