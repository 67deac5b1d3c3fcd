/** All metrics of the kubelet, for the server thread's metrics page. Add new files of definitions here. */
import type { MetricDefinition } from '../metrics.ts';
import * as authentication from './authentication.ts';
import * as certificates from './certificates.ts';
import * as configReload from './config-reload.ts';
import * as eviction from './eviction.ts';
import * as faults from './faults.ts';
import * as http from './http.ts';
import * as images from './images.ts';
import * as kubernetes from './kubernetes.ts';
import * as node from './node.ts';
import * as nodeShutdown from './node-shutdown.ts';
import * as pleg from './pleg.ts';
import * as podResources from './pod-resources.ts';
import * as podSync from './pod-sync.ts';
import * as pods from './pods.ts';
import * as podsAPI from './pods-api.ts';
import * as probes from './probes.ts';
import * as process from './process.ts';
import * as resize from './resize.ts';
import * as resources from './resources.ts';
import * as restClient from './rest-client.ts';
import * as runtimeOperations from './runtime-operations.ts';
import * as threads from './threads.ts';
import * as volumes from './volumes.ts';
import * as workQueues from './work-queues.ts';

const files: readonly Readonly<Record<string, MetricDefinition>>[] = [
  authentication,
  eviction,
  certificates,
  configReload,
  faults,
  http,
  images,
  kubernetes,
  node,
  nodeShutdown,
  pleg,
  podResources,
  podSync,
  pods,
  podsAPI,
  probes,
  process,
  resize,
  resources,
  restClient,
  runtimeOperations,
  threads,
  volumes,
  workQueues,
];

export const definitions: readonly MetricDefinition[] = files.flatMap((file) => Object.values(file));
