/** Encodes the input of an exec plugin and parses its output: client.authentication.k8s.io ExecCredential, v1 and v1beta1. */
import { createSecureContext } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { isMap } from '../../config/field-codecs.ts';
import type { ExecPluginConfig, KubeconfigCluster } from '../kubeconfig/kubeconfig.ts';
import type { ClientCertificate } from './identity.ts';

export interface ExecCredential {
  readonly token: string;
  readonly clientCertificate: ClientCertificate | undefined;
  /** The validity of the client certificate, in wall-clock ms. */
  readonly certificateTimes: { readonly notBefore: number; readonly notAfter: number } | undefined;
  /** Wall-clock ms. Undefined: the credential is valid until the server rejects it. */
  readonly expiresAtMs: number | undefined;
}

/** Returns the content of KUBERNETES_EXEC_INFO. */
export function execInfo(plugin: ExecPluginConfig, cluster: KubeconfigCluster, certificateAuthority: Buffer | null): string {
  const info = {
    server: cluster.server.href.replace(/\/$/, ''),
    ...(cluster.tlsServerName === '' ? {} : { 'tls-server-name': cluster.tlsServerName }),
    ...(cluster.insecureSkipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(certificateAuthority ? { 'certificate-authority-data': certificateAuthority.toString('base64') } : {}),
    ...(cluster.proxyURL === '' ? {} : { 'proxy-url': cluster.proxyURL }),
    ...(cluster.disableCompression ? { 'disable-compression': true } : {}),
    config: cluster.execConfig ?? null,
  };
  const spec = { ...(plugin.provideClusterInfo ? { cluster: info } : {}), interactive: false };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: plugin.apiVersion, spec });
}

/** Parses the plugin's output. Error messages never quote the output, which is a credential. */
export function parseExecCredential(printed: string, apiVersion: string): ExecCredential {
  const output = parseJSON(printed);
  if (!isMap(output) || output['kind'] !== 'ExecCredential') throw new Error('decoding stdout: not an ExecCredential');
  if (output['apiVersion'] !== apiVersion) {
    throw new Error(`exec plugin is configured to use API version ${apiVersion}, plugin returned version ${String(output['apiVersion'])}`);
  }
  const { status } = output;
  if (!isMap(status)) throw new Error("exec plugin didn't return a status field");
  const token = text(status, 'token');
  const cert = text(status, 'clientCertificateData');
  const key = text(status, 'clientKeyData');
  if (token === '' && cert === '' && key === '') throw new Error("exec plugin didn't return a token or cert/key pair");
  if ((cert === '') !== (key === '')) throw new Error('exec plugin returned only certificate or key, not both');
  if (/[\r\n\0]/.test(token)) throw new Error('exec plugin returned a token with line breaks');
  return {
    token,
    ...(cert === '' ? noCertificate : readCertificate(cert, key)),
    expiresAtMs: readTime(text(status, 'expirationTimestamp')),
  };
}

const noCertificate = { clientCertificate: undefined, certificateTimes: undefined };

function parseJSON(printed: string): unknown {
  try {
    return JSON.parse(printed);
  } catch {
    throw new Error('decoding stdout: not JSON');
  }
}

function text(status: Record<string, unknown>, name: string): string {
  const value = status[name] ?? '';
  if (typeof value !== 'string') throw new Error(`decoding stdout: status.${name} is not a string`);
  return value;
}

function readTime(value: string): number | undefined {
  if (value === '') return undefined;
  const time = Date.parse(value);
  if (Number.isNaN(time)) throw new Error('decoding stdout: status.expirationTimestamp is not a time');
  return time;
}

function readCertificate(cert: string, key: string): Pick<ExecCredential, 'clientCertificate' | 'certificateTimes'> {
  try {
    createSecureContext({ cert, key });
    const leaf = new X509Certificate(cert);
    return {
      clientCertificate: { cert, key },
      certificateTimes: { notBefore: Date.parse(leaf.validFrom), notAfter: Date.parse(leaf.validTo) },
    };
  } catch (err) {
    throw new Error(`failed parsing client key/certificate: ${messageOf(err)}`, { cause: err });
  }
}
