/**
 * The probes thread runs liveness, readiness and startup probes and posts their results and events to main, which decides what is probed and what a result does.
 * schedule/ decides when a probe runs, actions/ has the four kinds of probes, series/ the metrics of single probes. The thread keeps nothing that main
 * doesn't have: after a restart main sends its pods and their results again. Started by main (main/threads/probes-thread.ts).
 */
import type { ProbesApi, ProbesWorkerData } from '../../shared/contracts/probes.ts';
import { CriClient } from '../../shared/cri/client.ts';
import { countRuntimeOperation } from '../../shared/cri/count-calls.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { transferBytes } from '../../shared/thread/endpoint.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { attemptStarter } from './actions/start-attempt.ts';
import { ProbeManager } from './probe-manager.ts';
import { renderSeries } from './series/render-series.ts';

const { workerData, logger, heartbeat } = enterThread<ProbesWorkerData>();
const { runtimeEndpoint, runtimeRequestTimeoutMs, results } = workerData;

const runtime = new CriClient({ endpoint: runtimeEndpoint, onCall: countRuntimeOperation });
const startAttempt = attemptStarter(({ containerID, command, timeoutSeconds }, signal) =>
  runtime.runtime.call(
    'execSync',
    { containerId: containerID, cmd: command, timeout: BigInt(timeoutSeconds) },
    { deadlineMs: timeoutSeconds * 1000 + runtimeRequestTimeoutMs, signal },
  ),
);
const probes = new ProbeManager({ clock: systemClock, logger, startAttempt, post: (notification) => results.postMessage(notification) });

const api: ProbesApi = {
  async setPods(pods) {
    probes.setPods(pods);
  },
  async removePods(uids) {
    probes.removePods(uids);
  },
  async renderMetrics() {
    return transferBytes(await renderSeries(probes.series));
  },
  async close() {
    heartbeat.stop();
    probes.close();
    runtime.close();
    results.close();
  },
};
serveThread(api);
