/** The calls of plugin registration (upstream pkg/kubelet/pluginmanager/operationexecutor). Knows no type of plugin. */
import type { PluginInfoReply, RegistrationStatus } from '../../../shared/contracts/plugins.ts';
import { cutMessage } from '../../../shared/errors/cut-message.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { callUnary } from '../../../shared/grpc-client/index.ts';
import { InfoRequest, PluginInfo, RegistrationDefinition, RegistrationStatus as StatusMessage } from './generated/pluginregistration-v1.ts';

/** Upstream's limits: a second for GetInfo, and notifyTimeoutDuration. */
const getInfoDeadlineMs = 1000;
const notifyDeadlineMs = 5000;
/** A reply has names, a path and some versions. */
const maxReplyBytes = 64 * 1024;
/** Limits of what a plugin says of itself: the length of each text, and the number of versions. */
const maxText = 1024;
const maxVersions = 64;

const path = (method: 'GetInfo' | 'NotifyRegistrationStatus') => `/${RegistrationDefinition.fullName}/${method}`;

/** Never rejects. */
export async function getInfo(socketPath: string): Promise<PluginInfoReply> {
  try {
    const request = InfoRequest.encode({}).finish();
    const reply = await callUnary({ socketPath, path: path('GetInfo'), request, deadlineMs: getInfoDeadlineMs, maxReplyBytes });
    const { type, name, endpoint, supportedVersions } = PluginInfo.decode(reply);
    if ([type, name, endpoint, ...supportedVersions].some((text) => text.length > maxText) || supportedVersions.length > maxVersions)
      return { outcome: 'failed', message: 'the plugin describes itself with texts that are too long' };
    return { outcome: 'info', info: { type, name, endpoint, supportedVersions } };
  } catch (err) {
    return { outcome: 'failed', message: messageOf(err) };
  }
}

/** Never rejects. */
export async function notifyRegistrationStatus(socketPath: string, { registered, error }: RegistrationStatus): Promise<string | null> {
  try {
    const request = StatusMessage.encode({ pluginRegistered: registered, error: cutMessage(error, maxText) }).finish();
    await callUnary({ socketPath, path: path('NotifyRegistrationStatus'), request, deadlineMs: notifyDeadlineMs, maxReplyBytes });
    return null;
  } catch (err) {
    return messageOf(err);
  }
}
