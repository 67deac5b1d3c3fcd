import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { HostResolver } from '../../../../src/shared/dial/resolve-host.ts';

const notFound = () => Promise.reject(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' }));

/** Each resolver that is created knows the names of the next zone. */
async function aResolver(t: TestContext, zones: readonly Readonly<Record<string, string>>[]) {
  const temporary = await mkdtempDisposable(join(tmpdir(), 'resolve-host-'));
  t.after(() => temporary.remove());
  const folder = temporary.path;
  const [hostsFile, resolvConfFile] = [join(folder, 'hosts'), join(folder, 'resolv.conf')];
  const asked: string[] = [];
  let created = 0;
  const resolver = new HostResolver({
    hostsFile,
    resolvConfFile,
    newResolver: () => {
      const zone = zones[created]!;
      created += 1;
      return {
        resolve4: (async (name: string) => {
          asked.push(name);
          return zone[name] === undefined ? notFound() : [zone[name]];
        }) as never,
        resolve6: notFound,
      };
    },
  });
  return { resolver, asked, hostsFile, resolvConfFile, created: () => created };
}

test('changed name servers are asked without a restart', async (t) => {
  const { resolver, resolvConfFile, created } = await aResolver(t, [{ 'web.example': '192.0.2.1' }, { 'web.example': '192.0.2.2' }]);
  await writeFile(resolvConfFile, 'nameserver 10.0.0.1\n');
  assert.equal(await resolver.resolve('web.example'), '192.0.2.1');
  assert.equal(await resolver.resolve('web.example'), '192.0.2.1');
  assert.equal(created(), 1);
  await writeFile(resolvConfFile, 'nameserver 10.0.0.2\n');
  assert.equal(await resolver.resolve('web.example'), '192.0.2.2');
});

test('a name with a dot is also searched for', async (t) => {
  const { resolver, resolvConfFile, asked } = await aResolver(t, [{ 'web.rack.example': '192.0.2.1' }]);
  await writeFile(resolvConfFile, 'search example\n');
  assert.equal(await resolver.resolve('web.rack'), '192.0.2.1');
  assert.deepEqual(asked, ['web.rack', 'web.rack.example']);
});

test('a name in the hosts file is not asked for, and a missing one has Go’s text', async (t) => {
  const { resolver, hostsFile, asked } = await aResolver(t, [{}]);
  await writeFile(hostsFile, '192.0.2.3 web\n');
  assert.equal(await resolver.resolve('web'), '192.0.2.3');
  assert.deepEqual(asked, []);
  await assert.rejects(resolver.resolve('other'), { message: 'no such host' });
});
