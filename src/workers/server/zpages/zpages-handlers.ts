/**
 * `/statusz` and `/flagz`: the kubelet's version and flags, as text or as alpha and beta API objects. Upstream: k8s.io/apiserver
 * pkg/server/{statusz,flagz}, where the text has no stable format either.
 */
import type { MainApi } from '../../../shared/contracts/server/calls.ts';
import { error, ok, type Reply } from '../../../shared/http/reply.ts';
import type { Handler } from '../secure-routes.ts';
import { negotiateForm } from './negotiate.ts';

const warning = (page: string) =>
  `\nkubelet ${page}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;

export interface StatuszOptions {
  readonly version: string;
  readonly startedAtMs: number;
  readonly now: () => number;
}

/** @param roots the first path segments of all other routes */
export function createStatuszHandler({ version, startedAtMs, now }: StatuszOptions, roots: readonly string[]): Handler {
  return async ({ request }) => {
    const upSeconds = Math.max(0, Math.floor((now() - startedAtMs) / 1000));
    const emulated = version.replace(/^v(\d+\.\d+).*/, '$1');
    const twoDigits = (number: number) => String(number).padStart(2, '0');
    const text = () =>
      [
        warning('statusz'),
        `Started: ${new Date(startedAtMs).toUTCString()}`,
        `Up: ${Math.floor(upSeconds / 3600)} hr ${twoDigits(Math.floor(upSeconds / 60) % 60)} min ${twoDigits(upSeconds % 60)} sec`,
        `Go version: none (node ${process.version})`,
        `Binary version: ${version.slice(1)}`,
        `Emulation version: ${emulated}`,
        `Paths: ${roots.join(' ')}`,
        '',
      ].join('\n');
    const fields = () => ({
      startTime: `${new Date(startedAtMs).toISOString().slice(0, 19)}Z`,
      uptimeSeconds: upSeconds,
      goVersion: `node ${process.version}`,
      binaryVersion: version.slice(1),
      emulationVersion: emulated,
      paths: roots,
    });
    return reply('Statusz', request.headers.accept, text, fields);
  };
}

export function createFlagzHandler(main: Pick<MainApi, 'flagz'>): Handler {
  return async ({ request }) => {
    const flags = Object.entries(await main.flagz()).sort(([a], [b]) => (a < b ? -1 : 1));
    const text = () => [warning('flagz'), ...flags.map(([name, value]) => `${name}=${value}`), ''].join('\n');
    return reply('Flagz', request.headers.accept, text, () => ({ flags: Object.fromEntries(flags) }));
  };
}

async function reply(kind: 'Statusz' | 'Flagz', accept: string | undefined, text: () => string, fields: () => object): Promise<Reply> {
  const form = negotiateForm(accept, kind);
  if (form.type === 'text') return ok(text());
  if (form.type === 'none')
    return error(406, 'only the following media types are accepted: application/json, application/yaml, text/plain');
  const object = { kind, apiVersion: `config.k8s.io/${form.version}`, metadata: { name: 'kubelet' }, ...fields() };
  const body = form.type === 'json' ? `${JSON.stringify(object)}\n` : (await import('yaml')).stringify(object);
  const { status, headers } = ok('', `application/${form.type}`);
  if (form.version === 'v1beta1') return { status, headers, body };
  const page = kind.toLowerCase();
  return {
    status,
    headers: { ...headers, Warning: `299 - "This version of the ${page} endpoint is deprecated. Please use a newer version."` },
    body,
  };
}
