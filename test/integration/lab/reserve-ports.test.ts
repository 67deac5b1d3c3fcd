import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { reservePorts } from '../../../lab/host/reserve-ports.ts';

const module = new URL('../../../lab/host/reserve-ports.ts', import.meta.url).href;
/** So narrow that two independent choices of five ports are nearly always the same ones in part. Another run of this test has other ports. */
const lowest = randomInt(11_000, 19_000);
const range = { lowest, highest: lowest + 10 };
const reserveFive = `console.log(JSON.stringify(await (await import('${module}')).reservePorts(5, ${JSON.stringify(range)})))`;
const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', reserveFive]);

test('two processes get different ports, and a process that has ended leaves its ports to others', async () => {
  const own = await reservePorts(5, range);
  const { stdout } = await run();
  const others = JSON.parse(stdout) as number[];
  assert.equal(new Set([...own, ...others]).size, 10);
  const again = JSON.parse((await run()).stdout) as number[];
  assert.deepEqual(new Set(again), new Set(others));
});

test('a port that a server uses is not reserved', async (t) => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  await assert.rejects(reservePorts(1, { lowest: port, highest: port + 1 }), /no 1 free ports/);
});
