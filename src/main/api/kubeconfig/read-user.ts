/** Reads the user entry of a kubeconfig: the kubelet's credentials for the API server. */
import { resolve } from 'node:path';
import { fileOrData } from './read-cluster.ts';
import { FieldReader } from './field-reader.ts';
import { execAPIVersions, type ExecPluginConfig, type Impersonation, type KubeconfigUser } from './kubeconfig.ts';

export function readUser(fields: FieldReader, folder: string): KubeconfigUser {
  const { fieldPath: userPath } = fields;
  const clientCertificate = readClientCertificate(fields, folder);
  const token = fields.text('token');
  const tokenFile = fields.text('tokenFile');
  const [username, password] = [fields.text('username'), fields.text('password')];
  const hasBasic = username !== '' || password !== '';
  if (token !== '' && hasBasic) userPath.addProblem('has both a token and a username or password: only one of them may be');
  if (fields.has('auth-provider')) userPath.child('auth-provider').addProblem('has no effect any more: use exec, a plugin of the provider');
  if (/[\r\n\0]/.test(token)) userPath.child('token').addProblem('may not have line breaks');
  return {
    clientCertificate,
    token,
    tokenFile: tokenFile === '' ? '' : resolve(folder, tokenFile),
    basic: hasBasic ? { username, password } : null,
    exec: fields.has('exec') ? readExec(fields.fields('exec'), folder) : null,
    impersonate: readImpersonation(fields),
  };
}

function readClientCertificate(fields: FieldReader, folder: string): KubeconfigUser['clientCertificate'] {
  const certificate = fileOrData(fields, 'client-certificate', folder);
  const key = fileOrData(fields, 'client-key', folder);
  if (certificate && key) return { certificate, key };
  if (certificate) fields.fieldPath.child('client-key').addProblem('or client-key-data is missing, beside the client certificate');
  return null;
}

function readExec(fields: FieldReader, folder: string): ExecPluginConfig {
  const { fieldPath: execPath } = fields;
  const command = fields.text('command');
  if (command === '') execPath.child('command').addProblem('is missing');
  const version = fields.text('apiVersion');
  const apiVersion = execAPIVersions.find((each) => each === version);
  if (!apiVersion) execPath.child('apiVersion').addProblem(`must be one of ${execAPIVersions.join(', ')}`);
  const mode = fields.text('interactiveMode');
  if (mode === 'Always') execPath.child('interactiveMode').addProblem('may not be Always: a daemon has nobody to ask');
  else if (mode === '' && apiVersion === execAPIVersions[0]) execPath.child('interactiveMode').addProblem('is missing');
  else if (!['', 'Never', 'IfAvailable'].includes(mode)) execPath.child('interactiveMode').addProblem('must be Never or IfAvailable');
  const env = fields.items('env').map((item) => readVariable(new FieldReader(item.value, item.fieldPath)));
  return {
    // A bare name is resolved through PATH. A path with a slash is relative to the kubeconfig's folder.
    command: command.includes('/') ? resolve(folder, command) : command,
    args: fields.texts('args'),
    env: Object.fromEntries(env),
    apiVersion: apiVersion ?? execAPIVersions[0],
    installHint: fields.text('installHint'),
    provideClusterInfo: fields.flag('provideClusterInfo'),
  };
}

function readVariable(variable: FieldReader): [string, string] {
  const name = variable.text('name');
  if (name === '' || /[=\0]/.test(name)) variable.fieldPath.child('name').addProblem('must be the name of an environment variable');
  return [name, variable.text('value')];
}

function readImpersonation(fields: FieldReader): Impersonation | null {
  const user = fields.text('as');
  const uid = fields.text('as-uid');
  const groups = fields.texts('as-groups');
  const extraFields = fields.fields('as-user-extra');
  const extra = Object.fromEntries(extraFields.names().map((name) => [name, extraFields.texts(name)]));
  if (user !== '') return { user, uid, groups, extra };
  if (uid !== '' || groups.length > 0 || Object.keys(extra).length > 0) {
    fields.fieldPath.child('as').addProblem('is missing, beside as-uid, as-groups or as-user-extra');
  }
  return null;
}
