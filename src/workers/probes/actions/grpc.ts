/**
 * A gRPC probe: Check of grpc.health.v1.Health on a connection of its own (upstream pkg/probe/grpc/grpc.go). A refused connection is tried again until the timeout,
 * as grpc-go does when it dials with WithBlock.
 */
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { codeName, grpcCode } from '../../../shared/cri/cri-error.ts';
import { goDuration, goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { ActionOf, Attempt, AttemptResult, OnAttemptDone } from './attempt.ts';
import { success } from './attempt.ts';
import { decodeHealthStatus, encodeHealthRequest } from './health-messages.ts';
import { joinHostPort } from '../../../shared/dial/socket-error.ts';

const clientOptions = {
  'grpc.primary_user_agent': 'kube-probe/1.36',
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  // The reply has one small number.
  'grpc.max_receive_message_length': 64 * 1024,
} as const;

/** The library's own deadline is later than the probe's, which is enforced after all input has been read. */
const deadlineSlackMs = 5000;

export function startGRPC({ host, port, service }: ActionOf<'grpc'>, timeoutSeconds: number, done: OnAttemptDone): Attempt {
  const address = joinHostPort(host, port);
  const timeout = goDuration(timeoutSeconds * 1000);
  const deadline = Date.now() + timeoutSeconds * 1000 + deadlineSlackMs;
  const client = new Client(address, credentials.createInsecure(), clientOptions);
  let isOver = false;
  let isConnected = false;
  const finish = (result: AttemptResult) => {
    if (isOver) return;
    isOver = true;
    client.close();
    done(result);
  };
  // The probe's timeout ends the wait. The library's timer for it would overflow at 25 days, and follows jumps of the wall clock.
  client.waitForReady(Infinity, (err) => {
    if (isOver) return;
    if (err) return finish(failure(`error: failed to connect service at ${goQuote(address)}: ${err.message}`));
    isConnected = true;
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      encodeHealthRequest,
      decodeHealthStatus,
      service,
      new Metadata(),
      { deadline },
      (rpcError, status) => finish(rpcError ? failure(...rpcFailure(rpcError, timeout)) : toResult(status)),
    );
  });
  return {
    timeOut() {
      const message = isConnected
        ? `timeout: health rpc did not complete within ${timeout}`
        : `timeout: failed to connect service ${goQuote(address)} within ${timeout}: context deadline exceeded`;
      finish(failure(message, 'time'));
    },
    cancel() {
      isOver = true;
      client.close();
    },
  };
}

function toResult(status: string | undefined): AttemptResult {
  return status === 'SERVING' ? success : failure(`service unhealthy (responded with ${goQuote(status ?? 'UNKNOWN')})`);
}

function rpcFailure({ code, details }: ServiceError, timeout: string): [message: string, doubt?: 'time'] {
  if (code === grpcCode.UNIMPLEMENTED)
    return [`error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`];
  if (code === grpcCode.DEADLINE_EXCEEDED) return [`timeout: health rpc did not complete within ${timeout}`, 'time'];
  const message = `error: health rpc probe failed: rpc error: code = ${codeName(code)} desc = ${details}`;
  return code === grpcCode.UNAVAILABLE ? [message, 'time'] : [message];
}

function failure(output: string, doubt?: 'time'): AttemptResult {
  return { outcome: 'failure', output, ...(doubt && { doubt }) };
}
