/** Asks the running kubelet through its local socket. */
import { request as httpRequest, type IncomingMessage } from 'node:http';

/** Longer than the kubelet's own deadlines, so that its error says what did not answer. */
const deadlineMs = 15_000;
/** The largest answers are the list of images, which the runtime's message of at most 16 MiB bounds, and the list of 500 pods, with 100 KB. */
const maxBodyBytes = 64 * 1024 * 1024;

/** Resolves with the JSON. Rejects with an Error for the user. */
export async function requestLocal(socketPath: string, path: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const { status, body } = await get(socketPath, `${path}?${new URLSearchParams(query).toString()}`).catch(
    (err: NodeJS.ErrnoException): never => {
      throw new Error(reasonOf(err, socketPath), { cause: err });
    },
  );
  if (status !== 200) throw new Error(body.trim() === '' ? `the kubelet answered with status ${status}` : body.trim());
  return JSON.parse(body);
}

function reasonOf({ code, message }: NodeJS.ErrnoException, socketPath: string): string {
  if (code === 'EACCES') return `no permission to open ${socketPath}: run this command as root`;
  if (code !== undefined && ['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(code))
    return `no kubelet runs with this root directory (${socketPath}): start it, or set --root-dir`;
  if (code === 'ABORT_ERR') return `the kubelet did not answer within ${deadlineMs / 1000} s (${socketPath})`;
  return `${socketPath}: ${message}`;
}

async function get(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  const signal = AbortSignal.timeout(deadlineMs);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ socketPath, path, signal, headers: { Accept: 'application/json' } }, resolve)
      .on('error', reject)
      .end();
  });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() };
}
