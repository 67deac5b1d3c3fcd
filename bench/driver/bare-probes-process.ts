/**
 * The floor of HTTP probes: sends as many requests a second as the kubelet, each on a connection of its own, and reads the responses, without a schedule, a
 * parser or metrics. Arguments: port, requests a second.
 */
import { connect } from 'node:net';
import { kubernetesMinor } from '../../src/shared/kubernetes/version.ts';

const [port = 0, perSecond = 0] = process.argv.slice(2).map(Number);
const tickMs = 10;
const startedAtMs = performance.now();
let sent = 0;
setInterval(() => {
  for (const wanted = ((performance.now() - startedAtMs) / 1000) * perSecond; sent < wanted; sent += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('data', () => socket.destroy());
    socket.write(
      `GET /bare HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUser-Agent: kube-probe/${kubernetesMinor}\r\nAccept: */*\r\nConnection: close\r\n\r\n`,
    );
  }
}, tickMs);
