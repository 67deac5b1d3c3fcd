/**
 * The API client of a kubelet in a cluster, made from its kubeconfig (upstream cmd/kubelet/app/server.go, buildKubeletClientConfig). Made
 * without a word to the server: that may be down when the kubelet starts.
 */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { execPluginTTL } from '../../shared/metrics/definitions/rest-client.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { yieldToEventLoop } from '../../shared/concurrency/yield-to-event-loop.ts';
import { kubernetesVersion } from '../cli/version.ts';
import type { ApiClient } from './api-client.ts';
import { CertificateAuthority } from './http/certificate-authority.ts';
import { jsonCodec } from './http/wire-codec.ts';
import { HttpApiClient } from './http/http-api-client.ts';
import { createLanes } from './http/lanes.ts';
import { Transport } from './http/transport.ts';
import { KubeconfigIdentity } from './identity/kubeconfig-identity.ts';
import { loadKubeconfig } from './kubeconfig/load-kubeconfig.ts';
import { readBoundedFile } from './read-bounded-file.ts';

export interface ApiClientOptions {
  /** --kubeconfig */
  readonly kubeconfigPath: string;
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeLeaseDurationMs: number;
  /** The process' own; DISABLE_HTTP2, HTTPS_PROXY and NO_PROXY mean what they mean to Go's clients. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** How often connections are tried out. */
  readonly pingIntervalMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ApiConnection {
  readonly client: ApiClient;
  /** The kubeconfig's; nothing of a kubelet's is in it. */
  readonly namespace: string;
  /** The API server's, with its port. */
  readonly host: string;
  /** After a heartbeat that failed: new calls go over new connections. */
  readonly renewConnections: () => void;
  /** Fails what waits and ends what is under way, watches too. */
  readonly close: () => Promise<void>;
}

/** Certificates of authorities, all of a host's in one file at most. */
const maxAuthorityBytes = 4 * 1024 * 1024;

/** @throws ConfigurationError that names the kubeconfig, and the line and field of each problem in it or the file that it names and can't be read */
export async function createApiClient(options: ApiClientOptions): Promise<ApiConnection> {
  const { clock, logger, environment = process.env } = options;
  // Until a plugin has given a certificate, as upstream shows it.
  execPluginTTL.set(Infinity);
  const kubeconfig = await loadKubeconfig(options.kubeconfigPath);
  // Its YAML and the first secure context each take a round of the loop.
  await yieldToEventLoop();
  const { cluster, user, namespace } = kubeconfig;
  const identities = new KubeconfigIdentity({ kubeconfig, environment, clock, logger });
  const readFile = (path: string) => readBoundedFile(path, maxAuthorityBytes);
  const authority = new CertificateAuthority(cluster.certificateAuthority, readFile, clock, logger);
  try {
    // As upstream: what the kubeconfig names must be there at the start. Later it may be missing for a while.
    await identities.readFiles();
    if (cluster.certificateAuthority) await authority.current();
  } catch (err) {
    throw new ConfigurationError(`kubeconfig ${goQuote(options.kubeconfigPath)}: ${messageOf(err)}`);
  }
  const pings = options.pingIntervalMs === undefined ? {} : { pingIntervalMs: options.pingIntervalMs };
  const transport = new Transport({ cluster, environment, logger, ...pings });
  const lanes = createLanes({
    limit: { qps: options.kubeAPIQPS, burst: options.kubeAPIBurst },
    eventLimit: { qps: options.eventRecordQPS, burst: options.eventBurst },
    clock,
  });
  const client = new HttpApiClient({
    requestDefaults: { server: cluster.server, userAgent, impersonate: user.impersonate, codec: jsonCodec },
    transport,
    authority,
    identities,
    lanes,
    // Upstream's heartbeat client: a call that takes longer than this comes too late.
    heartbeatDeadlineMs: Math.min(options.nodeStatusUpdateFrequencyMs, options.nodeLeaseDurationMs),
    clock,
    logger,
  });
  return {
    client,
    namespace,
    host: cluster.server.host,
    renewConnections: () => transport.renewConnections(),
    close: async () => {
      client.close();
      identities.close();
      await transport.close();
    },
  };
}

/** As client-go's, without a commit: `kubelet/v1.36.3 (linux/amd64) kubernetes/unknown`. */
const userAgent = `kubelet/${kubernetesVersion} (${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}) kubernetes/unknown`;
