import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagTable } from '../../../../../src/main/config/flags/flag-table.ts';
import { parseFlags } from '../../../../../src/main/config/flags/parse-flags.ts';
import { table } from '../../../../support/table.ts';

const accepted: { name: string; args: string[]; want: Record<string, unknown>; rest?: string[] }[] = [
  {
    name: 'a value may follow = or be the next argument',
    args: ['--root-dir=/a', '--node-ip', '10.0.0.1'],
    want: { 'root-dir': '/a', 'node-ip': '10.0.0.1' },
  },
  { name: 'a value may contain =', args: ['--hostname-override=a=b'], want: { 'hostname-override': 'a=b' } },
  {
    name: 'an underscore counts as a dash',
    args: ['--root_dir=/a', '--v=1', '--max_pods=3'],
    want: { 'root-dir': '/a', v: 1, 'max-pods': 3 },
  },
  {
    name: 'a boolean needs no value',
    args: ['--seccomp-default', '--fail-cgroupv1=false'],
    want: { 'seccomp-default': true, 'fail-cgroupv1': false },
  },
  {
    name: 'a boolean does not consume the next argument',
    args: ['--seccomp-default', 'false'],
    want: { 'seccomp-default': true },
    rest: ['false'],
  },
  { name: 'booleans are parsed as in Go', args: ['--runonce=T', '--register-node=0'], want: { runonce: true, 'register-node': false } },
  { name: 'a shorthand’s value may follow =', args: ['-v=2'], want: { v: 2 } },
  { name: 'a shorthand’s value may be the next argument', args: ['-v', '3'], want: { v: 3 } },
  { name: 'a shorthand’s value may follow directly', args: ['-v4'], want: { v: 4 } },
  { name: 'shorthands may be combined', args: ['-hv5'], want: { help: true, v: 5 } },
  { name: 'a repeated plain flag takes the last value', args: ['--max-pods=1', '--max-pods=2'], want: { 'max-pods': 2 } },
  {
    name: 'numbers may have a base prefix',
    args: ['--port=0x10', '--oom-score-adj=-0b11', '--max-pods=1_0'],
    want: { port: 16, 'oom-score-adj': -3, 'max-pods': 10 },
  },
  {
    name: 'a repeated list flag appends',
    args: ['--cluster-dns=10.0.0.1,10.0.0.2', '--cluster-dns=10.0.0.3'],
    want: { 'cluster-dns': ['10.0.0.1', '10.0.0.2', '10.0.0.3'] },
  },
  {
    name: 'a value of a list may be quoted',
    args: ['--allowed-unsafe-sysctls="a,b",c,"d""e"'],
    want: { 'allowed-unsafe-sysctls': ['a,b', 'c', 'd"e'] },
  },
  { name: 'an empty list is empty', args: ['--cluster-dns='], want: { 'cluster-dns': [] } },
  {
    name: 'a repeated map flag merges',
    args: ['--system-reserved=cpu=1, memory = 2Gi', '--system-reserved=pid=3'],
    want: { 'system-reserved': { cpu: '1', memory: '2Gi', pid: '3' } },
  },
  {
    name: 'thresholds are separated by <',
    args: ['--eviction-hard=memory.available<1Gi,nodefs.available<10%'],
    want: { 'eviction-hard': { 'memory.available': '1Gi', 'nodefs.available': '10%' } },
  },
  {
    name: 'an option of the CPU manager is not split at commas',
    args: ['--cpu-manager-policy-options=a=b,c'],
    want: { 'cpu-manager-policy-options': { a: 'b,c' } },
  },
  {
    name: 'gates are booleans by name',
    args: ['--feature-gates=A=true,B=false', '--feature-gates=A=F'],
    want: { 'feature-gates': { A: false, B: false } },
  },
  {
    name: 'all headers of one name are kept',
    args: ['--manifest-url-header=a:1,b:x:y,a:2'],
    want: { 'manifest-url-header': { a: ['1', '2'], b: ['x:y'] } },
  },
  { name: 'labels may have no value', args: ['--node-labels=a=b,c'], want: { 'node-labels': { a: 'b', c: '' } } },
  {
    name: 'taints are key, value and effect',
    args: ['--register-with-taints=a=b:NoSchedule,c:NoExecute'],
    want: {
      'register-with-taints': [
        { key: 'a', value: 'b', effect: 'NoSchedule', timeAdded: null },
        { key: 'c', value: '', effect: 'NoExecute', timeAdded: null },
      ],
    },
  },
  {
    name: 'memory is reserved by node',
    args: ['--reserved-memory=0:memory=1024Mi,hugepages-2Mi=1Gi;1:memory=2Gi', '--reserved-memory=2:memory=1'],
    want: {
      'reserved-memory': [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '1Gi' } },
        { numaNode: 1, limits: { memory: '2Gi' } },
        { numaNode: 2, limits: { memory: '1' } },
      ],
    },
  },
  {
    name: 'repeated --vmodule patterns are appended',
    args: ['--vmodule=a=1,b*=2,', '--vmodule=c=3'],
    want: {
      vmodule: [
        { filePattern: 'a', verbosity: 1 },
        { filePattern: 'b*', verbosity: 2 },
        { filePattern: 'c', verbosity: 3 },
      ],
    },
  },
  { name: 'durations are milliseconds', args: ['--sync-frequency=1m30s'], want: { 'sync-frequency': 90_000 } },
  {
    name: 'addresses may have leading zeros',
    args: ['--address=010.0.0.1', '--healthz-bind-address=::1'],
    want: { address: '010.0.0.1', 'healthz-bind-address': '::1' },
  },
  { name: 'an empty address keeps the default', args: ['--address='], want: {} },
  { name: 'the version flag needs no value', args: ['--version'], want: { version: 'true' } },
  { name: 'the version flag may have a format', args: ['--version=raw'], want: { version: 'raw' } },
  { name: 'arguments after -- are not flags', args: ['--', '--port=x', '-v'], want: {}, rest: ['--port=x', '-v'] },
  { name: 'a single dash is not a flag', args: ['-'], want: {}, rest: ['-'] },
];
table('a command line is parsed as by pflag', (row) => {
  for (const { name, args, want, rest = [] } of accepted) {
    row(name, () => {
      const parsed = parseFlags(args);
      assert.deepEqual(Object.fromEntries(parsed.values), want);
      assert.deepEqual(parsed.positionalArgs, rest);
    });
  }
});

const refused: { args: string[]; want: string }[] = [
  { args: ['--nope'], want: 'unknown flag: --nope' },
  { args: ['--no_pe=1'], want: 'unknown flag: --no_pe' },
  { args: ['--constructor'], want: 'unknown flag: --constructor' },
  { args: ['-x'], want: "unknown shorthand flag: 'x' in -x" },
  { args: ['-hx'], want: "unknown shorthand flag: 'x' in -x" },
  { args: ['--port'], want: 'flag needs an argument: --port' },
  { args: ['-v'], want: "flag needs an argument: 'v' in -v" },
  { args: ['--=1'], want: 'bad flag syntax: --=1' },
  { args: ['---port=1'], want: 'bad flag syntax: ---port=1' },
  { args: ['--port=x'], want: 'invalid argument "x" for "--port" flag: strconv.ParseInt: parsing "x": invalid syntax' },
  { args: ['--port='], want: 'invalid argument "" for "--port" flag: strconv.ParseInt: parsing "": invalid syntax' },
  { args: ['--port=1.5'], want: 'invalid argument "1.5" for "--port" flag: strconv.ParseInt: parsing "1.5": invalid syntax' },
  {
    args: ['--port=2147483648'],
    want: 'invalid argument "2147483648" for "--port" flag: strconv.ParseInt: parsing "2147483648": value out of range',
  },
  { args: ['-v=x'], want: 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax' },
  { args: ['--runonce=maybe'], want: 'invalid argument "maybe" for "--runonce" flag: strconv.ParseBool: parsing "maybe": invalid syntax' },
  { args: ['--sync-frequency=1d'], want: 'invalid argument "1d" for "--sync-frequency" flag: time: unknown unit "d" in duration "1d"' },
  { args: ['--address=a.b'], want: 'invalid argument "a.b" for "--address" flag: "a.b" is not a valid IP address' },
  { args: ['--system-reserved=cpu'], want: 'invalid argument "cpu" for "--system-reserved" flag: malformed pair, expect string=string' },
  { args: ['--eviction-hard=a=1'], want: 'invalid argument "a=1" for "--eviction-hard" flag: malformed pair, expect string<string' },
  { args: ['--feature-gates=A'], want: 'invalid argument "A" for "--feature-gates" flag: malformed pair, expect string=bool' },
  {
    args: ['--feature-gates=A=x'],
    want: 'invalid argument "A=x" for "--feature-gates" flag: invalid value of A: x, err: strconv.ParseBool: parsing "x": invalid syntax',
  },
  {
    args: ['--manifest-url-header=a'],
    want: 'invalid argument "a" for "--manifest-url-header" flag: malformed pair, expect string:string',
  },
  { args: ['--vmodule=a'], want: 'invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format' },
  { args: ['--register-with-taints=a=b'], want: 'invalid argument "a=b" for "--register-with-taints" flag: invalid taint spec: a=b' },
  {
    args: ['--register-with-taints=a:No'],
    want: 'invalid argument "a:No" for "--register-with-taints" flag: invalid taint effect: No, unsupported taint effect',
  },
  {
    args: ['--reserved-memory=x:memory=1'],
    want: 'invalid argument "x:memory=1" for "--reserved-memory" flag: failed to convert the NUMA node ID, expected integer, got x',
  },
  {
    args: ['--log-json-info-buffer-size=x'],
    want: 'invalid argument "x" for "--log-json-info-buffer-size" flag: quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
  },
  {
    args: ['--cluster-dns=a"b'],
    want: String.raw`invalid argument "a\"b" for "--cluster-dns" flag: "a\"b": a quote stands where none may be`,
  },
];
table('a malformed command line is rejected with pflag’s message', (row) => {
  for (const { args, want } of refused) {
    row(`kubelet ${args.join(' ')} is rejected with pflag’s message`, () =>
      assert.throws(() => parseFlags(args), { name: 'FlagError', message: want }),
    );
  }
});

test('a deprecated flag is accepted with one warning', () => {
  const { warnings, values } = parseFlags(['--max-pods=1', '--max-pods=2', '--pod-cidr=10.0.0.0/24', '--root-dir=/a']);
  assert.equal(values.get('max-pods'), 2);
  assert.deepEqual(
    warnings.map((warning) => warning.slice(0, 60)),
    ['Flag --max-pods has been deprecated, This parameter should b', 'Flag --pod-cidr has been deprecated, This parameter should b'],
  );
});

test('the table has all 131 flags, each once', () => {
  assert.equal(new Set(flagTable.map(({ name }) => name)).size, flagTable.length);
  assert.equal(flagTable.length, 131);
});
