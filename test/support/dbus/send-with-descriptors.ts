/** Sends bytes together with file descriptors, as D-Bus does. Node can't. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import koffi from 'koffi';

const libc = koffi.load(null);
const vector = koffi.struct({ base: 'void *', length: 'size_t' });
const header = koffi.struct({
  name: 'void *',
  nameLength: 'unsigned int',
  iov: koffi.pointer(vector),
  iovLength: 'size_t',
  control: 'void *',
  controlLength: 'size_t',
  flags: 'int',
});
const sendmsg = libc.func('sendmsg', 'intptr_t', ['int', koffi.pointer(header), 'int']);

export function sendWithDescriptors(socket: Socket, data: Buffer, descriptors: readonly number[]): void {
  const control = Buffer.alloc(16 + Math.ceil(descriptors.length / 2) * 8);
  control.writeBigUInt64LE(BigInt(16 + descriptors.length * 4), 0);
  control.writeInt32LE(1, 8);
  control.writeInt32LE(1, 12);
  descriptors.forEach((fd, index) => control.writeInt32LE(fd, 16 + index * 4));
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle;
  const iov = [{ base: data, length: data.length }];
  const message = { name: null, nameLength: 0, iov, iovLength: 1, control, controlLength: control.length, flags: 0 };
  assert.equal(sendmsg(fd, message, 0), data.length);
}
