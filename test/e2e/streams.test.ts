/** kubectl logs, exec, attach, cp and port-forward, through a real API server, to a kubelet in front of a real containerd. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { request } from 'undici';
import { aReachablePod } from '../support/kubelet/reachable-pod.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

/**
 * kubectl uses WebSockets to the API server by default. The API server uses WebSockets to the kubelet if the Node declares
 * support, and SPDY otherwise.
 */
const protocols: { name: string; env: NodeJS.ProcessEnv; declared: string[] }[] = [
  { name: 'WebSocket', env: {}, declared: ['ExtendWebSocketsToKubelet'] },
  { name: 'WebSocket to the API server', env: {}, declared: [] },
  {
    name: 'SPDY',
    env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' },
    declared: ['ExtendWebSocketsToKubelet'],
  },
];

const { cluster, node, namespace, pod, port, start, kubectl, admin, webSocket, close } = await aReachablePod();
after(close);

describe('kubectl streams', () => {
  /** The first byte of a frame is its channel. */
  const textOf = (frames: readonly Buffer[], channel: number): string =>
    Buffer.concat(frames.filter(([first]) => first === channel).map((frame) => frame.subarray(1))).toString();

  test('logs have both streams and honour their options', async () => {
    const { stdout } = await kubectl(['logs', pod, '-c', 'app']);
    assert.deepEqual(stdout.split('\n').sort(), ['', 'hello from stderr', 'hello from stdout']);
    const { stdout: tail } = await kubectl(['logs', pod, '-c', 'app', '--tail=1', '--timestamps']);
    assert.match(tail, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d) hello from std(out|err)\n$/);
    assert.equal((await kubectl(['logs', pod, '-c', 'app', '--limit-bytes=5'])).stdout, 'hello');
    assert.equal((await kubectl(['logs', pod, '-c', 'app', '--since-time=2999-01-01T00:00:00Z'])).stdout, '');
  });

  test('logs --previous shows the previous instance, or an error without one', async () => {
    const { code, stdout } = await kubectl(['logs', pod, '-c', 'crashing', '--previous']);
    assert.equal(code, 0);
    assert.match(stdout, /^attempt at /);
    const none = await kubectl(['logs', pod, '-c', 'app', '--previous']);
    assert.equal(none.code, 1);
    assert.equal(none.stderr.trim(), `Error from server (BadRequest): previous terminated container "app" in pod "${pod}" not found`);
  });

  test('logs --previous works at every moment of a crash loop', async () => {
    const dispatcher = admin();
    const path = `https://127.0.0.1:${port}/containerLogs/${namespace}/${pod}/crashing?previous=true`;
    const status = async () =>
      (await node.pods())
        .find(({ metadata }) => metadata.name === pod)!
        .status!.containerStatuses!.find(({ name }) => name === 'crashing')!;
    const { restartCount: first } = await status();
    const seen = new Set<string>();
    const stop = new AbortController();
    const reader = async () => {
      while (!stop.signal.aborted) {
        const { statusCode, body } = await request(path, { dispatcher });
        const text = await body.text();
        seen.add(statusCode === 200 && text.startsWith('attempt at ') ? 'found' : `${statusCode} ${text}`);
      }
    };
    const readers = [reader(), reader(), reader()];
    // Covers a start, an exit and the status write after it.
    await waitUntil(
      'the next attempt has ended',
      async () => {
        const { restartCount, state } = await status();
        return restartCount > first && state?.waiting !== undefined;
      },
      60_000,
    );
    stop.abort();
    await Promise.all(readers);
    await dispatcher.destroy();
    assert.deepEqual([...seen], ['found']);
  });

  test('logs -f follows a log', async () => {
    const follower = start(['logs', '-f', pod, '-c', 'app', '--tail=0']);
    let text = '';
    follower.stdout.on('data', (data: Buffer) => (text += data.toString()));
    await kubectl(['exec', pod, '-c', 'app', '--', 'sh', '-c', 'sleep 0.5; echo line > /tmp/print']);
    await waitUntil('the line arrives', () => text === 'line\n');
    follower.kill();
    await once(follower, 'close');
  });

  test('200 followers of one log each receive every line', async () => {
    const dispatcher = admin();
    const followers = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const { statusCode, body } = await request(`https://127.0.0.1:${port}/containerLogs/${namespace}/${pod}/app?follow=1&tailLines=0`, {
          dispatcher,
        });
        const follower = { statusCode, text: '' };
        body.on('data', (data: Buffer) => (follower.text += data.toString())).on('error', () => {});
        return follower;
      }),
    );
    assert.deepEqual(new Set(followers.map(({ statusCode }) => statusCode)), new Set([200]));
    await kubectl([
      'exec',
      pod,
      '-c',
      'app',
      '--',
      'sh',
      '-c',
      'seq 1 3000 > /tmp/lines; echo last >> /tmp/lines; mv /tmp/lines /tmp/print',
    ]);
    await waitUntil('the last line arrives', () => followers.every(({ text }) => text.endsWith('last\n')));
    const lines = `${Array.from({ length: 3000 }, (_, n) => `${n + 1}\n`).join('')}last\n`;
    assert.ok(followers.every(({ text }) => text === lines));
    await dispatcher.destroy();
    assert.equal((await kubectl(['logs', pod, '-c', 'app', '--tail=1'])).stdout, 'last\n');
  });

  test('a line that the runtime writes in pieces is one line for --tail, --timestamps and -f', async () => {
    const follower = start(['logs', '-f', pod, '-c', 'app', '--tail=0', '--timestamps']);
    let text = '';
    follower.stdout.on('data', (data: Buffer) => (text += data.toString()));
    const print =
      'head -c 40000 /dev/zero | tr "\\\\0" x > /tmp/lines; echo >> /tmp/lines; echo end >> /tmp/lines; mv /tmp/lines /tmp/print';
    await kubectl(['exec', pod, '-c', 'app', '--', 'sh', '-c', `sleep 1; ${print}`]);
    await waitUntil('the long line arrives', () => text.endsWith(' end\n'));
    const stamped = /^\d{4}-\S+ x{40000}\n\d{4}-\S+ end\n$/;
    assert.match(text, stamped);
    assert.match((await kubectl(['logs', pod, '-c', 'app', '--tail=2', '--timestamps'])).stdout, stamped);
    assert.equal((await kubectl(['logs', pod, '-c', 'app', '--tail=2'])).stdout, `${'x'.repeat(40_000)}\nend\n`);
    follower.kill();
  });

  test('logs -f misses nothing during a rotation', async () => {
    const follower = start(['logs', '-f', pod, '-c', 'app', '--tail=0']);
    let text = '';
    follower.stdout.on('data', (data: Buffer) => (text += data.toString()));
    const writeLines = 'for n in $(seq 1 400); do echo $n; sleep 0.005; done > /proc/1/fd/1; echo all > /proc/1/fd/1';
    const writing = kubectl(['exec', pod, '-c', 'app', '--', 'sh', '-c', `sleep 1; ${writeLines}`]);
    await waitUntil('the first lines arrive', () => text.includes('20\n'));
    const [app] = (await node.pods()).find(({ metadata }) => metadata.name === pod)!.status!.containerStatuses!;
    const containerId = app!.containerID!.replace('containerd://', '');
    const { status } = await node.cri.runtime.call('containerStatus', { containerId }, { deadlineMs: 5_000 });
    renameSync(status!.logPath, `${status!.logPath}.rotated`);
    await node.cri.runtime.call('reopenContainerLog', { containerId }, { deadlineMs: 5_000 });
    await writing;
    await waitUntil('the last line arrives', () => text.endsWith('all\n'));
    assert.deepEqual(text.trim().split('\n'), [...Array.from({ length: 400 }, (_, n) => String(n + 1)), 'all']);
    assert.ok(statSync(status!.logPath).size > 0 && statSync(`${status!.logPath}.rotated`).size > 0);
    follower.kill();
    await once(follower, 'close');
  });

  /** The count of streams that the kubelet translated into the runtime's protocol. */
  const countTranslatedStreams = async () => {
    const { body } = await request(`https://127.0.0.1:${port}/metrics`, { dispatcher: admin() });
    const found = (await body.text()).matchAll(/^kubelet_websocket_streaming_requests_total\{subresource="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...found].map(([, subresource, count]) => [subresource, Number(count)]));
  };

  for (const { name, env, declared } of protocols) {
    test(`streams over ${name}: the Node declares its support`, async () => {
      await cluster.api.patch('/api/v1/nodes/test-node/status', { status: { declaredFeatures: declared } });
    });

    test(`exec over ${name} separates streams and returns the exit code`, async () => {
      const { code, stdout, stderr } = await kubectl(['exec', pod, '-c', 'app', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'], {
        env,
      });
      assert.deepEqual([code, stdout], [7, 'out\n']);
      assert.match(stderr, /^err\ncommand terminated with exit code 7\n$/);
    });

    test(`exec over ${name} transfers large input completely`, async () => {
      const input = randomBytes(3_000_000);
      const { code, bytes, stderr } = await kubectl(['exec', '-i', pod, '-c', 'app', '--', 'cat'], { env, input });
      assert.deepEqual([code, stderr], [0, '']);
      assert.ok(bytes.equals(input), `${bytes.length} of ${input.length} bytes came back`);
    });

    test(`exec over ${name} on a terminal follows its size`, async () => {
      const [command, args, kubectlEnv] = cluster.kubectlCommand(['-n', namespace, 'exec', '-it', pod, '-c', 'app', '--', 'sh']);
      const kubectlLine = [command, ...args].map((argument) => `'${argument}'`).join(' ');
      // kubectl reads the size of the terminal that `script` creates.
      const child = spawn(
        'script',
        ['-qfc', `stty cols 101 rows 41; terminal=$(tty); (sleep 2; stty -F $terminal cols 77 rows 33) & ${kubectlLine}`, '/dev/null'],
        {
          env: { ...kubectlEnv, ...env },
        },
      );
      let text = '';
      child.stdout.on('data', (data: Buffer) => (text += data.toString()));
      await waitUntil('the prompt appears', () => text.includes('# '));
      child.stdin.write('stty size\n');
      await waitUntil('the shell prints the size', () => text.includes('41 101'));
      await waitUntil('the shell prints the new size', () => {
        child.stdin.write('stty size\n');
        return text.includes('33 77');
      });
      child.stdin.write('exit\n');
      await once(child, 'close');
    });

    test(`port-forward over ${name} carries many connections at once`, async () => {
      const forward = start(['port-forward', pod, ':8080', '--address', '127.0.0.1'], env);
      let text = '';
      forward.stdout.on('data', (data: Buffer) => (text += data.toString()));
      const url = await waitUntil('kubectl prints the forwarded port', () => /Forwarding from (127\.0\.0\.1:\d+)/.exec(text)?.[1]);
      const pages = await Promise.all(
        Array.from({ length: 20 }, async () => (await fetch(`http://${url}/`, { headers: { Connection: 'close' } })).text()),
      );
      assert.deepEqual(new Set(pages), new Set(['page\n']));
      forward.kill();
      await once(forward, 'close');
    });

    test(`attach over ${name} connects to the running process`, async () => {
      const child = start(['attach', '-i', pod, '-c', 'cat'], env);
      let text = '';
      child.stdout.on('data', (data: Buffer) => (text += data.toString()));
      await waitUntil('the echo arrives', () => {
        child.stdin.write(`ping over ${name}\n`);
        return text.includes(`ping over ${name}\n`);
      });
      child.kill();
      await once(child, 'close');
    });
  }

  test('a WebSocket client of the kubelet receives streams as channels', async () => {
    const query = 'command=sh&command=-c&command=echo%20out%3Bread%20line%3Becho%20got%20%24line%3Bexit%205&input=1&output=1';
    const frames: Buffer[] = [];
    const socket = webSocket(`/exec/${namespace}/${pod}/app?${query}`, frames);
    await waitUntil('the output arrives', () => textOf(frames, 1).includes('out\n'));
    socket.send(Buffer.from('\0input\n'));
    await once(socket, 'close');
    assert.equal(textOf(frames, 1), 'out\ngot input\n');
    assert.match(textOf(frames, 3), /"reason":"NonZeroExitCode"[\s\S]*"message":"5"/);
  });

  test('the API server uses WebSockets only for nodes that declare support', async () => {
    const before = await countTranslatedStreams();
    assert.ok(before['exec']! > 0 && before['attach']! > 0 && before['portforward']! > 0, JSON.stringify(before));
    const command = ['exec', pod, '-c', 'app', '--', 'echo', 'echoed'];
    assert.equal((await kubectl(command)).stdout, 'echoed\n');
    assert.equal((await countTranslatedStreams())['exec'], before['exec']! + 1);
    assert.equal((await kubectl(command, { env: protocols.at(-1)!.env })).stdout, 'echoed\n');
    assert.equal((await countTranslatedStreams())['exec'], before['exec']! + 1);
  });

  test('a WebSocket client of the kubelet can close stdin', async () => {
    const frames: Buffer[] = [];
    const query = 'command=wc&command=-c&input=1&output=1&error=1';
    const socket = webSocket(`/exec/${namespace}/${pod}/app?${query}`, frames, 'v5.channel.k8s.io');
    await once(socket, 'open');
    socket.send(Buffer.from('\0seven b'));
    socket.send(Buffer.from([255, 0]));
    await once(socket, 'close');
    assert.equal(textOf(frames, 1), '7\n');
    assert.equal(textOf(frames, 3), '{"metadata":{},"status":"Success"}');
  });

  test('a WebSocket client of the kubelet can forward a port', async () => {
    const frames: Buffer[] = [];
    const socket = webSocket(`/portForward/${namespace}/${pod}?port=8080`, frames);
    // Both channels begin with the port number.
    await waitUntil('both channels have sent the port', () => frames.length >= 2);
    socket.send(Buffer.from('\0GET /index.html HTTP/1.0\r\n\r\n'));
    await waitUntil('the page arrives', () => textOf(frames, 0).endsWith('\r\n\r\npage\n'));
    socket.close();
  });

  test('/run returns the command’s output, and /checkpoint the runtime’s answer', async () => {
    const post = async (path: string) => {
      const { statusCode, body } = await request(`https://127.0.0.1:${port}${path}`, { method: 'POST', dispatcher: admin() });
      return [statusCode, await body.text()];
    };
    assert.deepEqual(await post(`/run/${namespace}/${pod}/app?cmd=echo+out`), [200, 'out\n']);
    const [failed, message] = await post(`/run/${namespace}/${pod}/app?cmd=ls+/no/such/folder`);
    assert.equal(failed, 500);
    assert.match(String(message), /^command 'ls \/no\/such\/folder' exited with 1: .*No such file or directory/);
    assert.deepEqual(await post(`/run/${namespace}/no-such-pod/app?cmd=true`), [404, 'pod does not exist']);
    // A runtime may or may not support checkpoints: both results are reported.
    const [status, checkpoint] = await post(`/checkpoint/${namespace}/${pod}/app`);
    const refused = `checkpointing of ${namespace}/${pod}/app failed (`;
    assert.ok(status === 200 ? String(checkpoint).startsWith('{"items":["/') : String(checkpoint).startsWith(refused), String(checkpoint));
  });

  test('cp copies files in both directions', async () => {
    const [from, back] = [join(node.folder, 'from'), join(node.folder, 'back')];
    writeFileSync(from, randomBytes(1_000_000));
    const copyIn = await kubectl(['cp', from, `${pod}:/tmp/copied`, '-c', 'app']);
    assert.deepEqual([copyIn.code, copyIn.stderr], [0, '']);
    assert.equal((await kubectl(['cp', `${pod}:/tmp/copied`, back, '-c', 'app'])).code, 0);
    assert.ok(readFileSync(from).equals(readFileSync(back)));
  });

  test('20 parallel execs each receive their own output', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => kubectl(['exec', pod, '-c', 'app', '--', 'sh', '-c', `sleep 0.2; echo ${n}`])),
    );
    assert.deepEqual(
      results.map(({ code, stdout }) => `${code} ${stdout.trim()}`),
      results.map((_, n) => `0 ${n}`),
    );
  });

  test('missing pods and containers get upstream’s errors', async () => {
    const stopped = await kubectl(['exec', pod, '-c', 'crashing', '--', 'true']);
    // Between two instances no container runs; while one runs, the command succeeds.
    if (stopped.code !== 0) assert.match(stopped.stderr, /container not found \("crashing"\)|exit code/);
    const command = await kubectl(['exec', pod, '-c', 'app', '--', '/no/such/command']);
    assert.equal(command.code > 0, true);
    assert.match(command.stderr, /no such file or directory/);
  });
});
