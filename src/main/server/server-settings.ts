/** Converts the configuration into the server thread's settings: listeners, TLS in OpenSSL's names, authentication, authorization, handlers. */
import { join } from 'node:path';
import type { ListenAddress, SecureServerSettings, TlsSettings } from '../../shared/contracts/server/settings.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import type { KubeletOptions } from '../config/options.ts';
import { cgroupFsRoot } from '../node/index.ts';
import type { ServerSettings } from '../threads/server-thread.ts';
import { localSocketDir } from '../../shared/local-socket/socket-path.ts';
import { kubernetesVersion } from '../../shared/kubernetes/version.ts';

export interface ServerEnvironment {
  readonly nodeName: string;
  readonly snapshot: SharedArrayBuffer;
  readonly usage: SharedArrayBuffer;
  readonly storage: SharedArrayBuffer;
  readonly claimedVolumes: SharedArrayBuffer;
  readonly timelines: SharedArrayBuffer;
  /** Whether an API server reviews tokens and access. */
  readonly hasApiServer: boolean;
}

const minVersions: Readonly<Record<string, TlsSettings['minVersion']>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};
/** OpenSSL's names of curves, by Go's CurveID. */
const curveNames: Readonly<Record<number, string>> = {
  23: 'P-256',
  24: 'P-384',
  25: 'P-521',
  29: 'X25519',
  4587: 'SecP256r1MLKEM768',
  4588: 'X25519MLKEM768',
  4589: 'SecP384r1MLKEM1024',
};
/** The suites of TLS 1.3 cannot be configured, as in Go: all are always offered. */
const tls13Suites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** Null when the port is 0: the listener is disabled. */
export function listenAddress(address: string, port: number): ListenAddress | null {
  return port > 0 ? { address, port } : null;
}

export function serverSettings(options: KubeletOptions, environment: ServerEnvironment): ServerSettings {
  const { config, flags, featureGates } = options;
  return {
    readOnly: listenAddress(config.address, config.readOnlyPort),
    secure:
      config.enableServer && secureServerFault(config, environment.hasApiServer) === null ? secureSettings(options, environment) : null,
    streaming: {
      runtimeEndpoint: config.containerRuntimeEndpoint,
      runtimeRequestTimeoutMs: config.runtimeRequestTimeout,
      podLogsDir: config.podLogsDir,
      checkpointsDir: join(flags.rootDirectory, 'checkpoints'),
      streamingIdleTimeoutMs: config.streamingConnectionIdleTimeout,
      splitLogStreams: featureGates.enabled('PodLogsQuerySplitStreams'),
      translateWebSockets: featureGates.enabled('ExtendWebSocketsToKubelet'),
    },
    snapshot: environment.snapshot,
    nativeHistograms: featureGates.enabled('NativeHistograms'),
    stats: {
      fromRuntime: options.featureGates.enabled('PodAndContainerStatsFromCRI'),
      hasContainerFilesystems: isCRIO(config.containerRuntimeEndpoint) && !featureGates.enabled('PodAndContainerStatsFromCRI'),
      usage: environment.usage,
      storage: environment.storage,
      claimedVolumes: environment.claimedVolumes,
      nodeName: environment.nodeName,
      cgroupFsRoot,
    },
    grpcSockets: {
      pods: featureGates.enabled('PodsAPI') ? join(flags.rootDirectory, 'pods-api', 'pods-api.sock') : null,
      podResources: join(flags.rootDirectory, 'pod-resources', 'kubelet.sock'),
    },
    timelines: { table: environment.timelines, socketDir: localSocketDir(flags.rootDirectory) },
  };
}

/**
 * Why the authenticated server could accept no client; null when it can. Upstream exits with these messages (BuildAuth of
 * cmd/kubelet/app/auth.go); a standalone kubelet runs without that server.
 */
export function secureServerFault(
  { authentication, authorization }: Pick<KubeletConfiguration, 'authentication' | 'authorization'>,
  hasApiServer: boolean,
): string | null {
  const { x509, webhook, anonymous } = authentication;
  if (webhook.enabled && !hasApiServer) return 'no client provided, cannot use webhook authentication';
  if (!webhook.enabled && x509.clientCAFile === '' && !anonymous.enabled) return 'no authentication method configured';
  if (authorization.mode === 'Webhook' && !hasApiServer) return 'no client provided, cannot use webhook authorization';
  return null;
}

function secureSettings({ config, flags, featureGates }: KubeletOptions, { nodeName }: ServerEnvironment): SecureServerSettings {
  const { authentication, authorization } = config;
  return {
    listen: { address: config.address, port: config.port },
    nodeName,
    version: kubernetesVersion,
    tls: {
      ...certificateFiles(config, flags.certDirectory, nodeName),
      reload: featureGates.enabled('ReloadKubeletServerCertificateFile'),
      minVersion: minVersions[config.tlsMinVersion] ?? 'TLSv1.2',
      ciphers: ciphersOf(config.tlsCipherSuites),
      curves: config.tlsCurvePreferences.map((id) => curveNames[id]).join(':'),
    },
    authentication: {
      clientCAFile: authentication.x509.clientCAFile,
      reloadClientCAFile: featureGates.enabled('ReloadKubeletClientCAFile'),
      webhook: authentication.webhook.enabled ? { cacheTTLMs: authentication.webhook.cacheTTL } : null,
      anonymous: authentication.anonymous.enabled,
    },
    authorization:
      authorization.mode === 'Webhook'
        ? {
            authorizedTTLMs: authorization.webhook.cacheAuthorizedTTL,
            unauthorizedTTLMs: authorization.webhook.cacheUnauthorizedTTL,
          }
        : null,
    handlers: {
      debugging: config.enableDebuggingHandlers,
      profiling: config.enableProfilingHandler,
      debugFlags: config.enableDebugFlagsHandler,
      systemLogs: config.enableSystemLogHandler,
      systemLogQuery: config.enableSystemLogQuery && featureGates.enabled('NodeLogQuery'),
      statusz: featureGates.enabled('ComponentStatusz'),
      flagz: featureGates.enabled('ComponentFlagz'),
      checkpoint: featureGates.enabled('ContainerCheckpoint'),
      allocatedPods: featureGates.enabled('KubeletAllocatedPodsEndpoint'),
    },
  };
}

/**
 * Upstream: InitializeTLS of cmd/kubelet/app/server.go. With serverTLSBootstrap main sets the certificate, also that of the files while the
 * cluster has issued none.
 */
function certificateFiles(
  { tlsCertFile, tlsPrivateKeyFile, serverTLSBootstrap }: KubeletOptions['config'],
  certDirectory: string,
  host: string,
): Pick<TlsSettings, 'certFile' | 'keyFile' | 'selfSignedFor'> {
  if (serverTLSBootstrap) return { certFile: '', keyFile: '', selfSignedFor: null };
  if (tlsCertFile !== '' || tlsPrivateKeyFile !== '') return { certFile: tlsCertFile, keyFile: tlsPrivateKeyFile, selfSignedFor: null };
  return { certFile: join(certDirectory, 'kubelet.crt'), keyFile: join(certDirectory, 'kubelet.key'), selfSignedFor: host };
}

function ciphersOf(goNames: readonly string[]): string {
  if (goNames.length === 0) return '';
  return [...tls13Suites, ...goNames.filter((name) => name.includes('_WITH_')).map(opensslCipher)].join(':');
}

/** Converts Go's name of a cipher suite to OpenSSL's: `TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA` is `ECDHE-RSA-AES128-SHA`. */
function opensslCipher(goName: string): string {
  const [exchange = '', cipher = ''] = goName.slice('TLS_'.length).split('_WITH_');
  const algorithm = cipher
    .replace('CHACHA20_POLY1305_SHA256', 'CHACHA20_POLY1305')
    .replace('3DES_EDE_CBC', 'DES_CBC3')
    .replace('_CBC_SHA', '_SHA')
    .replace(/^AES_(\d+)/, 'AES$1')
    .replace('RC4_128', 'RC4');
  return `${exchange === 'RSA' ? '' : `${exchange}_`}${algorithm}`.replaceAll('_', '-');
}

/** The path may begin with /var/run or /run. Upstream: CrioSocketSuffix of pkg/kubelet/cadvisor/util.go. */
function isCRIO(runtimeEndpoint: string): boolean {
  return runtimeEndpoint.endsWith('run/crio/crio.sock');
}
