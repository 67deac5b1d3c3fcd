/** The shared set-up of integration tests of the API client against a real TLS server. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { ApiError, type ApiCall, type ApiClientOptions, type ApiConnection, type WatchEvent } from '../../../src/main/api/index.ts';
import { connectTo } from './api-connection.ts';
import { ScriptedApiServer } from './scripted-api-server.ts';

export let server: ScriptedApiServer;
const open: ApiConnection[] = [];
export const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', unknownField: { kept: true } } };
export const getPod: ApiCall = { method: 'GET', path: '/api/v1/namespaces/default/pods/a', trafficClass: 'pods' };

/** Connects a client to the server, with this user and these changes to the cluster of the kubeconfig. */
export async function aClient(
  user: object = {},
  { cluster = {}, ...options }: Partial<ApiClientOptions> & { readonly cluster?: object } = {},
): Promise<ApiConnection> {
  const kubeconfigPath = join(server.folder, `kubeconfig-${open.length}`);
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: server.url, 'certificate-authority': 'ca.crt', ...cluster } }],
    users: [{ name: 'u', user }],
  };
  writeFileSync(kubeconfigPath, stringify(kubeconfig));
  const connection = await connectTo(kubeconfigPath, { environment: { PATH: process.env['PATH'] }, ...options });
  open.push(connection);
  return connection;
}

export async function collect<T>(events: AsyncIterable<WatchEvent<T>>): Promise<WatchEvent<T>[]> {
  const seen: WatchEvent<T>[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(5);
}

export const isError = (code: number, reason: string) => (err: unknown) =>
  err instanceof ApiError && err.code === code && err.reason === reason;

/** Starts the server before the tests of a file and closes it after them. */
export function useServer(): void {
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((connection) => connection.close()));
    server.requests.length = 0;
  });
  after(() => server.close());
}

/** Runs `use` with another server, to which `aClient` connects meanwhile. */
export async function withServer(other: ScriptedApiServer, use: () => Promise<void>): Promise<void> {
  const usual = server;
  server = other;
  try {
    await use();
  } finally {
    await other.close();
    server = usual;
  }
}
