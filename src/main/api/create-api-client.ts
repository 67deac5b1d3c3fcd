/**
 * Creates the API client of a kubelet in a cluster from its kubeconfig (upstream cmd/kubelet/app/server.go, buildKubeletClientConfig). Sends
 * nothing to the API server, which may be down when the kubelet starts.
 */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { execPluginTTL } from '../../shared/metrics/definitions/rest-client.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { yieldToEventLoop } from '../../shared/concurrency/yield-to-event-loop.ts';
import { kubernetesVersion } from '../../shared/kubernetes/version.ts';
import type { ApiClient } from './api-client.ts';
import { CertificateAuthority } from './http/certificate-authority.ts';
import { jsonCodec } from './http/wire-codec.ts';
import { HttpApiClient } from './http/http-api-client.ts';
import { createLanes, type ApiRateLimits } from './http/lanes.ts';
import { Transport } from './http/transport.ts';
import type { IdentitySource } from './identity/identity.ts';
import { KubeconfigIdentity } from './identity/kubeconfig-identity.ts';
import type { Kubeconfig } from './kubeconfig/kubeconfig.ts';
import { loadKubeconfig } from './kubeconfig/load-kubeconfig.ts';
import { readBoundedFile } from '../../shared/files/read-bounded-file.ts';

export interface RateLimitSettings {
  readonly kubeAPIQPS: number;
  readonly kubeAPIBurst: number;
  readonly eventRecordQPS: number;
  readonly eventBurst: number;
}

export interface ApiClientOptions {
  /** In force until `setRateLimits` replaces them. */
  readonly rateLimits: RateLimitSettings;
  /** The flag --kubeconfig. */
  readonly kubeconfigPath: string;
  /** The cluster, and credentials that the kubelet itself keeps valid. Replaces the kubeconfig, whose file may not exist yet. */
  readonly managed?: { readonly kubeconfig: Kubeconfig; readonly identities: IdentitySource } | undefined;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeLeaseDurationMs: number;
  /** Default: the process' own. DISABLE_HTTP2, HTTPS_PROXY and NO_PROXY mean the same as to Go's clients. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The interval of HTTP/2 pings on each connection. */
  readonly pingIntervalMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ApiConnection {
  readonly client: ApiClient;
  /** The namespace of the kubeconfig's context. The kubelet creates nothing in it. */
  readonly namespace: string;
  /** The API server's host and port. */
  readonly host: string;
  /** Makes new calls use new connections. Called after a failed heartbeat. */
  readonly renewConnections: () => void;
  /** Calls the listeners of `client.onRecovery`, whose calls failed for lack of credentials. Called when the kubelet gets a client certificate. */
  readonly announceRecovery: () => void;
  readonly setRateLimits: (settings: RateLimitSettings) => void;
  /** Rejects queued calls and aborts calls and watches in flight. */
  readonly close: () => Promise<void>;
}

/** Enough for all certificate authorities of a host in one file. */
const maxAuthorityBytes = 4 * 1024 * 1024;

/** Rejects with a ConfigurationError that names the kubeconfig and either the line and field of each problem or the unreadable file. */
export async function createApiClient(options: ApiClientOptions): Promise<ApiConnection> {
  const { clock, logger, environment = process.env } = options;
  // Upstream reports infinity until an exec plugin has returned a certificate.
  execPluginTTL.set(Infinity);
  const kubeconfig = options.managed?.kubeconfig ?? (await loadKubeconfig(options.kubeconfigPath));
  for (const warning of kubeconfig.warnings)
    logger.warn({ kubeconfig: options.kubeconfigPath, warning }, 'The kubeconfig is used with a warning');
  // Parsing the YAML and creating the first secure context each block for long, so they run in separate event-loop iterations.
  await yieldToEventLoop();
  const { cluster, user, namespace } = kubeconfig;
  const ownIdentities = options.managed ? null : new KubeconfigIdentity({ kubeconfig, environment, clock, logger });
  const identities = options.managed?.identities ?? ownIdentities!;
  const readFile = (path: string) => readBoundedFile(path, maxAuthorityBytes);
  const authority = new CertificateAuthority(cluster.certificateAuthority, readFile, clock, logger);
  try {
    // As upstream, the files that the kubeconfig names must be readable at start. Later they may be missing for a while.
    await ownIdentities?.readFiles();
    if (cluster.certificateAuthority) await authority.current();
  } catch (err) {
    throw new ConfigurationError(`kubeconfig ${goQuote(options.kubeconfigPath)}: ${messageOf(err)}`);
  }
  const pings = options.pingIntervalMs === undefined ? {} : { pingIntervalMs: options.pingIntervalMs };
  const transport = new Transport({ cluster, environment, logger, ...pings });
  const lanes = createLanes({ ...toRateLimits(options.rateLimits), clock });
  const client = new HttpApiClient({
    requestDefaults: { server: cluster.server, userAgent, impersonate: options.managed ? null : user.impersonate, codec: jsonCodec },
    transport,
    authority,
    identities,
    lanes,
    // As in upstream's heartbeat client: a heartbeat that takes longer than this arrives too late.
    heartbeatDeadlineMs: Math.min(options.nodeStatusUpdateFrequencyMs, options.nodeLeaseDurationMs),
    clock,
    logger,
  });
  return {
    client,
    namespace,
    host: cluster.server.host,
    renewConnections: () => transport.renewConnections(),
    setRateLimits: (settings) => lanes.setLimits(toRateLimits(settings)),
    announceRecovery: () => client.announceRecovery(),
    close: async () => {
      client.close();
      ownIdentities?.close();
      await transport.close();
    },
  };
}

function toRateLimits({ kubeAPIQPS, kubeAPIBurst, eventRecordQPS, eventBurst }: RateLimitSettings): ApiRateLimits {
  return { limit: { qps: kubeAPIQPS, burst: kubeAPIBurst }, eventLimit: { qps: eventRecordQPS, burst: eventBurst } };
}

/** client-go's format, without a commit: `kubelet/v1.37.2 (linux/amd64) kubernetes/unknown`. */
const userAgent = `kubelet/${kubernetesVersion} (${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}) kubernetes/unknown`;
