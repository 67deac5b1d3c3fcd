/** What the server thread is told of the configuration: listeners, TLS in OpenSSL's names, who may ask, which handlers are there. Pure. */
import { join } from 'node:path';
import type { ListenAddress, SecureServerSettings, TlsSettings } from '../../shared/contracts/server/settings.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import type { KubeletOptions } from '../cli/options.ts';
import type { ServerSettings } from '../threads/server-thread.ts';
import { kubernetesVersion } from '../cli/version.ts';

export interface ServerSurroundings {
  readonly nodeName: string;
  readonly snapshot: SharedArrayBuffer;
  /** Whether there is an API server to ask for token and access reviews. */
  readonly hasApiServer: boolean;
}

const minVersions: Readonly<Record<string, TlsSettings['minVersion']>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};
/** Go's numbers of curves, as OpenSSL names them. */
const curveNames: Readonly<Record<number, string>> = {
  23: 'P-256',
  24: 'P-384',
  25: 'P-521',
  29: 'X25519',
  4587: 'SecP256r1MLKEM768',
  4588: 'X25519MLKEM768',
  4589: 'SecP384r1MLKEM1024',
};
/** Those of TLS 1.3 can't be chosen, in Go as here: they are always offered. */
const tls13Suites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** Null: the port is switched off. */
export function listenAddress(address: string, port: number): ListenAddress | null {
  return port > 0 ? { address, port } : null;
}

export function serverSettings(options: KubeletOptions, surroundings: ServerSurroundings): ServerSettings {
  const { config, flags, featureGates } = options;
  return {
    readOnly: listenAddress(config.address, config.readOnlyPort),
    secure:
      config.enableServer && secureServerFault(config, surroundings.hasApiServer) === null ? secureSettings(options, surroundings) : null,
    streaming: {
      runtimeEndpoint: config.containerRuntimeEndpoint,
      runtimeRequestTimeoutMs: config.runtimeRequestTimeout,
      podLogsDir: config.podLogsDir,
      checkpointsDir: join(flags.rootDirectory, 'checkpoints'),
      streamingIdleTimeoutMs: config.streamingConnectionIdleTimeout,
      splitLogStreams: featureGates.enabled('PodLogsQuerySplitStreams'),
      translateWebSockets: featureGates.enabled('ExtendWebSocketsToKubelet'),
    },
    snapshot: surroundings.snapshot,
  };
}

/**
 * Why nobody could be let in at the authenticated server; null: it can be served. Upstream gives up with these words (BuildAuth of
 * cmd/kubelet/app/auth.go); a kubelet that stands alone runs on without that server.
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

function secureSettings({ config, flags, featureGates }: KubeletOptions, { nodeName }: ServerSurroundings): SecureServerSettings {
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
    },
  };
}

/**
 * Upstream: InitializeTLS of cmd/kubelet/app/server.go. With serverTLSBootstrap upstream has no files; here it is not in effect yet, and a
 * server that no client could shake hands with would help nobody.
 */
function certificateFiles(
  { tlsCertFile, tlsPrivateKeyFile }: KubeletConfiguration,
  certDirectory: string,
  host: string,
): Pick<TlsSettings, 'certFile' | 'keyFile' | 'selfSignedFor'> {
  if (tlsCertFile !== '' || tlsPrivateKeyFile !== '') return { certFile: tlsCertFile, keyFile: tlsPrivateKeyFile, selfSignedFor: null };
  return { certFile: join(certDirectory, 'kubelet.crt'), keyFile: join(certDirectory, 'kubelet.key'), selfSignedFor: host };
}

function ciphersOf(goNames: readonly string[]): string {
  if (goNames.length === 0) return '';
  return [...tls13Suites, ...goNames.filter((name) => name.includes('_WITH_')).map(opensslCipher)].join(':');
}

/** Go's name of a cipher suite in OpenSSL's words: `TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA` is `ECDHE-RSA-AES128-SHA`. */
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
