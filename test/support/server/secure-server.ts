/** Starts a real server thread with HTTPS, certificates in a separate folder, and a fake API of main. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IncomingHttpHeaders } from 'node:http';
import { ServerThread } from '../../../src/main/threads/server-thread.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import type { ServerSettings } from '../../../src/main/threads/server-thread.ts';
import type { MainApi } from '../../../src/shared/contracts/server/calls.ts';
import type { SecureServerSettings } from '../../../src/shared/contracts/server/settings.ts';
import { createVerbosityCell } from '../../../src/shared/log/live-verbosity.ts';
import { aLogger } from '../logger.ts';
import { secureSettings, serverSettings, fakeMainApi } from './server.ts';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

export interface SecureServerOverrides {
  readonly secure?: Partial<SecureServerSettings>;
  readonly settings?: Partial<ServerSettings>;
  readonly mainApi?: Partial<MainApi>;
  /** Contents of the client CA file `client-ca.crt`. */
  readonly clientCA?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export async function aSecureServer(t: TestHooks, over: SecureServerOverrides = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'server-'));
  const { logger, lines } = aLogger();
  const logging = { format: 'text', verbosity: 0, vmodule: [], live: createVerbosityCell() } as const;
  const state = new SharedThreadState({ logging, podSyncThreads: 1, syncFrequencyMs: 60_000 });
  const heartbeat = state.enterMain();
  const clientCAFile = over.clientCA === undefined ? '' : join(folder, 'client-ca.crt');
  if (over.clientCA !== undefined) writeFileSync(clientCAFile, over.clientCA);
  const base = secureSettings(folder);
  const secure = {
    ...base,
    ...over.secure,
    authentication: { ...base.authentication, ...over.secure?.authentication, clientCAFile },
  };
  const server = ServerThread.start({
    state,
    logger,
    mainApi: fakeMainApi(over.mainApi),
    settings: serverSettings({ secure, ...over.settings }),
  });
  t.after(async () => {
    heartbeat.stop();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { port } = (await server.addresses()).secure!;
  /** Uses a new connection per request, unless an agent is given. */
  const ask = (path: string, options: RequestOptions & { body?: string } = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { body, ...rest } = options;
      const request = httpsRequest({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, ...rest }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  return { server, state, lines, folder, port, ask, clientCAFile };
}
