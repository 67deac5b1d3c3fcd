/** A TCP probe succeeds when the connection is established (upstream pkg/probe/tcp/tcp.go). */
import type { ActionOf, Attempt, OnAttemptDone } from './attempt.ts';
import { success } from './attempt.ts';
import { openConnection } from '../../../shared/dial/open-connection.ts';
import { joinHostPort } from '../../../shared/dial/socket-error.ts';

export function startTCP({ host, port }: ActionOf<'tcp'>, done: OnAttemptDone): Attempt {
  const connection = openConnection(host, port, {
    onConnect: (socket) => {
      socket.destroy();
      done(success);
    },
    onError: ({ message, doubt }) => done({ outcome: 'failure', output: message, ...(doubt && { doubt }) }),
  });
  return {
    timeOut() {
      connection.cancel();
      done({ outcome: 'failure', output: `dial tcp ${joinHostPort(host, port)}: i/o timeout`, doubt: 'time' });
    },
    cancel: () => connection.cancel(),
  };
}
