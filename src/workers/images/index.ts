/**
 * Entry of the images thread. pulls/ is upstream's image manager: pulls with their limits, back-offs, credentials and records, and the image
 * list. image-gc/ removes unused images. container-gc/ removes dead containers, dead sandboxes and their logs. log-rotation/ rotates the logs of
 * running containers. filesystem-sampler.ts measures the filesystems of images and containers.
 * Only main calls this thread. Its state may be lost: main repeats the requests of lost pulls.
 */
import type { ImagesApi, ImagesWorkerData } from '../../shared/contracts/images.ts';
import { CriClient } from '../../shared/cri/client.ts';
import { withTimeout } from '../../shared/concurrency/with-timeout.ts';
import { countRuntimeOperation } from '../../shared/cri/count-calls.ts';
import { RuntimeSnapshotReader } from '../../shared/state/runtime-snapshot.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { systemClock } from '../../shared/time/clock.ts';
import { runInSpan, runWithParent, tracingStarted } from '../../shared/tracing/index.ts';
import { ContainerGC } from './container-gc/container-gc.ts';
import { ContainerRemover } from './container-gc/container-remover.ts';
import { runPlugin } from '../../shared/linux/run-plugin.ts';
import { FilesystemSampler } from './filesystem-sampler.ts';
import { ImageFilesystemReader } from './image-gc/image-filesystem.ts';
import { ImageGC } from './image-gc/image-gc.ts';
import { ImageUses } from './image-uses.ts';
import { CredentialPlugins } from './pulls/credentials/plugins/credential-plugins.ts';
import { createPullTokenClient } from './pull-token-client.ts';
import { ContainerLogManager, LogRotation } from './log-rotation/index.ts';
import { NodeCredentials } from './pulls/credentials/node-credentials.ts';
import { ImageManager } from './pulls/image-manager.ts';
import { listImages } from './pulls/list-images.ts';
import { PullRecords } from './pulls/records/pull-records.ts';

/** How long the end of the thread waits for rotations, which take milliseconds. */
const closeDeadlineMs = 1000;

/** Upstream's spans and their scopes. */
const spans = {
  imageGC: { scope: 'k8s.io/kubernetes/pkg/kubelet/images', name: 'Images/GarbageCollect' },
  containerGC: { scope: 'k8s.io/kubernetes/pkg/kubelet/kuberuntime', name: 'Containers/GarbageCollect' },
};

const { workerData, logger, heartbeat } = enterThread<ImagesWorkerData>();
// Waits for tracing, so that the first pull has spans too.
await tracingStarted();

const runtime = new CriClient({ endpoint: workerData.runtimeEndpoint, onCall: countRuntimeOperation });
const images =
  workerData.imageEndpoint === workerData.runtimeEndpoint
    ? runtime
    : new CriClient({ endpoint: workerData.imageEndpoint, onCall: countRuntimeOperation });
const { rootDir, verificationPolicy } = workerData;
const listAll = () => listImages(images.images, workerData.runtimeRequestTimeoutMs);
const stopped = new AbortController();
const plugins = new CredentialPlugins({
  providers: workerData.credentialProviders,
  environment: process.env,
  run: runPlugin,
  pullToken: createPullTokenClient(workerData.main),
  signal: stopped.signal,
  clock: systemClock,
  logger,
});
const records =
  verificationPolicy && (await PullRecords.open({ rootDir, policy: verificationPolicy, listImages: listAll, clock: systemClock, logger }));
const uses = new ImageUses();
const imageManager = new ImageManager({
  records,
  uses,
  nodeCredentials: new NodeCredentials({ rootDir, clock: systemClock, logger }),
  plugins,
  onEvent: (event) => workerData.events.postMessage(event),
  onPullWait: (pullWait) => workerData.events.postMessage({ pullWait }),
  images: images.images,
  clock: systemClock,
  runtimeRequestTimeoutMs: workerData.runtimeRequestTimeoutMs,
  parallelPulls: workerData.serializeImagePulls ? 1 : workerData.maxParallelImagePulls,
  pullsPerSecond: workerData.live.registryPullQPS,
  pullBurst: workerData.live.registryBurst,
});
const imageGC = new ImageGC({
  policy: workerData.live.imageGc,
  runtime: runtime.runtime,
  images: images.images,
  filesystem: new ImageFilesystemReader(images.images, workerData.runtimeRequestTimeoutMs, systemClock),
  uses,
  pruneRecords: records && ((present, beganAtMs) => records.prune(present, beganAtMs)),
  byRuntimeHandler: workerData.byRuntimeHandler,
  deadlineMs: workerData.runtimeRequestTimeoutMs,
  clock: systemClock,
  logger,
});
const { podLogsDir, containerLogsDir } = workerData;
const remover = new ContainerRemover({
  runtime: runtime.runtime,
  deadlineMs: workerData.runtimeRequestTimeoutMs,
  podLogsDir,
  containerLogsDir,
});
const snapshot = new RuntimeSnapshotReader(workerData.snapshot);
const containerGC = new ContainerGC({ snapshot, remover, podLogsDir, containerLogsDir, clock: systemClock, logger });
const logRotation = new LogRotation((policy) => {
  const { runtimeRequestTimeoutMs } = workerData;
  const dependencies = { snapshot, runtime: runtime.runtime, runtimeRequestTimeoutMs, podLogsDir, clock: systemClock, logger };
  return new ContainerLogManager({ policy, ...dependencies });
});
logRotation.configure(workerData.live.logRotation);
const filesystems = new FilesystemSampler({
  images: images.images,
  deadlineMs: workerData.runtimeRequestTimeoutMs,
  usage: workerData.usage,
  splitDisks: workerData.splitDisks,
  clock: systemClock,
  logger,
});
void filesystems.run(stopped.signal);

const api: ImagesApi = {
  ensureImage: (request) => runWithParent(request.traceParent, () => imageManager.ensureImage(request)),
  listImages: listAll,
  collectImages: (needed) =>
    runInSpan(
      () => spans.imageGC,
      () => imageGC.garbageCollect(needed),
    ),
  deleteUnusedImages: (needed) => imageGC.deleteUnusedImages(needed),
  planImageGc: async (needed) => JSON.stringify(await imageGC.plan(needed)),
  collectContainers: (request) =>
    runInSpan(
      () => spans.containerGC,
      () => containerGC.garbageCollect(request),
    ),
  removeContainers: (ids) => containerGC.removeContainers(ids),
  sampleFilesystems: () => filesystems.sample(),
  async configure({ registryPullQPS, registryBurst, imageGc, logRotation: policy }) {
    imageManager.setPullRate({ perSecond: registryPullQPS, burst: registryBurst });
    imageGC.setPolicy(imageGc);
    logRotation.configure(policy);
  },
  async close() {
    heartbeat.stop();
    stopped.abort();
    // A rotation that waits for the runtime is interrupted: the restarted kubelet continues it.
    await withTimeout(closeDeadlineMs, logRotation.close());
    runtime.close();
    images.close();
  },
};
serveThread(api);
