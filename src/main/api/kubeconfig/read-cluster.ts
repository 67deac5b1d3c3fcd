/** Reads the cluster entry of a kubeconfig: the URL of the API server and how to verify the server. */
import { resolve } from 'node:path';
import type { FieldReader } from './field-reader.ts';
import type { FileOrData, KubeconfigCluster } from './kubeconfig.ts';

/** The extension whose content is passed to exec plugins as `spec.cluster.config`. */
const execExtension = 'client.authentication.k8s.io/exec';
const proxySchemes: ReadonlySet<string> = new Set(['http:', 'https:', 'socks5:']);

export function readCluster(fields: FieldReader, folder: string): KubeconfigCluster {
  const certificateAuthority = fileOrData(fields, 'certificate-authority', folder);
  const insecureSkipTLSVerify = fields.flag('insecure-skip-tls-verify');
  if (insecureSkipTLSVerify && certificateAuthority) {
    fields.fieldPath.child('insecure-skip-tls-verify').addProblem('may not be true beside a certificate-authority');
  }
  const extension = fields.items('extensions').find(({ value }) => (value as { name?: unknown } | null)?.name === execExtension);
  return {
    server: readServer(fields, certificateAuthority !== null || insecureSkipTLSVerify),
    tlsServerName: fields.text('tls-server-name'),
    insecureSkipTLSVerify,
    certificateAuthority,
    proxyURL: readProxyURL(fields),
    disableCompression: fields.flag('disable-compression'),
    execConfig: (extension?.value as { extension?: unknown } | undefined)?.extension,
  };
}

/** Reads a field or its `-data` variant. Both together are a problem. Returns null without either. */
export function fileOrData(fields: FieldReader, name: string, folder: string): FileOrData | null {
  const path = fields.text(name);
  const data = fields.bytes(`${name}-data`);
  if (path !== '' && data.length > 0) fields.fieldPath.child(name).addProblem(`and ${name}-data are both there: only one may be`);
  if (data.length > 0) return { data };
  return path === '' ? null : { path: resolve(folder, path) };
}

/** A server without a scheme gets https if the kubeconfig has TLS settings, else http (upstream rest.DefaultServerURL). */
function readServer(fields: FieldReader, hasTLS: boolean): URL {
  const configuredServer = fields.text('server');
  const serverPath = fields.fieldPath.child('server');
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(configuredServer) ? configuredServer : `${hasTLS ? 'https' : 'http'}://${configuredServer}`;
  // A placeholder. Any problem makes the whole kubeconfig fail.
  const placeholder = new URL('https://localhost');
  if (configuredServer === '') serverPath.addProblem('is missing');
  else if (!URL.canParse(text)) serverPath.addProblem('is not a URL');
  else {
    const server = new URL(text);
    if (server.protocol !== 'https:' && server.protocol !== 'http:') serverPath.addProblem('must be an https or http URL');
    if (server.username !== '' || server.password !== '') serverPath.addProblem('may not have a user or password in it');
    server.search = '';
    server.hash = '';
    server.pathname = server.pathname.replace(/\/+$/, '');
    return server;
  }
  return placeholder;
}

function readProxyURL(fields: FieldReader): string {
  const proxyText = fields.text('proxy-url');
  if (proxyText !== '' && !(URL.canParse(proxyText) && proxySchemes.has(new URL(proxyText).protocol))) {
    fields.fieldPath.child('proxy-url').addProblem('must be an http, https or socks5 URL');
  }
  return proxyText;
}
