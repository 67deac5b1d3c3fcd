import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message, MessageBus } from 'dbus-native';
import { ServiceOwner } from '../../../../src/shared/dbus/service-owner.ts';

const service = 'org.freedesktop.login1';
const change = (owner: string, more: Partial<Message> = {}): Message => ({
  sender: 'org.freedesktop.DBus',
  interface: 'org.freedesktop.DBus',
  member: 'NameOwnerChanged',
  body: [service, ':1.4', owner],
  ...more,
});

/** @param reply of GetNameOwner: the owner, or an error */
async function follow(reply: () => string): Promise<ServiceOwner> {
  const owner = new ServiceOwner(service);
  const bus = { addMatch: () => Promise.resolve(), invokeDbus: async () => reply() };
  await owner.follow(bus as unknown as MessageBus);
  return owner;
}

const dbusError = (name: string) => Object.assign(new Error(name), { dbusName: `org.freedesktop.DBus.Error.${name}` });

test('a signal counts from the owner of the name only', async () => {
  const owner = await follow(() => ':1.4');
  assert.ok(owner.hasSent({ sender: ':1.4' }));
  for (const sender of [':1.5', service, undefined]) assert.ok(!owner.hasSent(sender === undefined ? {} : { sender }));
});

test('a new owner takes the place of the old one', async () => {
  const owner = await follow(() => ':1.4');
  owner.onMessage(change(':1.7'));
  assert.deepEqual(
    [':1.4', ':1.7'].map((sender) => owner.hasSent({ sender })),
    [false, true],
  );
  owner.onMessage(change(''));
  assert.deepEqual(
    [':1.4', ':1.7', ''].map((sender) => owner.hasSent({ sender })),
    [false, false, false],
  );
});

test('only the bus changes the owner', async () => {
  const owner = await follow(() => ':1.4');
  owner.onMessage(change(':1.9', { sender: ':1.9' }));
  owner.onMessage(change(':1.9', { body: ['org.freedesktop.other', '', ':1.9'] }));
  owner.onMessage(change(':1.9', { member: 'NameAcquired' }));
  assert.ok(owner.hasSent({ sender: ':1.4' }));
  assert.ok(!owner.hasSent({ sender: ':1.9' }));
});

test('a name without an owner is no failure, and a failing bus is', async () => {
  const nobody = await follow(() => {
    throw dbusError('NameHasNoOwner');
  });
  assert.ok(!nobody.hasSent({}));
  nobody.onMessage(change(':1.7'));
  assert.ok(nobody.hasSent({ sender: ':1.7' }));
  const noReply = () => {
    throw dbusError('NoReply');
  };
  await assert.rejects(follow(noReply), /NoReply/);
});

test('a change that was read before the reply is newer', async () => {
  const owner = new ServiceOwner(service);
  const invokeDbus = async () => {
    owner.onMessage(change(':1.7'));
    return ':1.4';
  };
  await owner.follow({ addMatch: () => Promise.resolve(), invokeDbus } as unknown as MessageBus);
  assert.ok(owner.hasSent({ sender: ':1.7' }));
});
