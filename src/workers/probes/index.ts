/**
 * The probes thread runs liveness, readiness and startup probes and posts their results and events to main, which decides what is probed and what a result does.
 * schedule/ decides when a probe runs, actions/ has the four kinds of probes, series/ the metrics of single probes. The thread keeps nothing that main
 * doesn't have: after a restart main sends its pods and their results again. Started by main (main/threads/probes-thread.ts).
 */
import type { ProbedPod, ProbesApi, ProbesWorkerData } from '../../shared/contracts/probes.ts';
import type { CriClient } from '../../shared/cri/client.ts';
import { countRuntimeOperation } from '../../shared/cri/count-calls.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { transferBytes } from '../../shared/thread/endpoint.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { execSyncOf } from './actions/exec-sync.ts';
import { attemptStarter } from './actions/start-attempt.ts';
import { ProbeWorkers } from './probe-manager.ts';
import { renderSeries } from './series/render-series.ts';

const { workerData, logger, heartbeat } = enterThread<ProbesWorkerData>();
const { runtimeEndpoint, runtimeRequestTimeoutMs, results } = workerData;

/** 10 KiB of a command's output are used. A tenant whose commands print up to the runtime's limit of 16 MB must not fill the memory. */
const maxExecReplyBytes = 2 * 1024 * 1024;
let runtime: CriClient | undefined;
/** Only exec probes need the runtime's client, which takes megabytes. It is loaded with the first pod that has one. */
async function connect(): Promise<CriClient> {
  const { CriClient: Client } = await import('../../shared/cri/client.ts');
  runtime ??= new Client({ endpoint: runtimeEndpoint, onCall: countRuntimeOperation, maxReplyBytes: maxExecReplyBytes });
  return runtime;
}
const startAttempt = attemptStarter(execSyncOf(connect, runtimeRequestTimeoutMs));
const probes = new ProbeWorkers({ clock: systemClock, logger, startAttempt, post: (notification) => results.postMessage(notification) });

function hasExecProbe({ containers }: ProbedPod): boolean {
  return containers.some(({ probes: specs }) => specs.some(({ action }) => action.type === 'exec'));
}

const api: ProbesApi = {
  async setPods(pods) {
    // Not awaited, so that the calls of main keep their order. After a failure the probe connects again, and reports the error.
    if (!runtime && pods.some(hasExecProbe)) void connect().catch(() => {});
    probes.setPods(pods);
  },
  async removePods(uids) {
    probes.removePods(uids);
  },
  async renderMetrics(format) {
    return transferBytes(await renderSeries(probes.series, format));
  },
  async close() {
    heartbeat.stop();
    probes.close();
    runtime?.close();
    results.close();
  },
};
serveThread(api);
