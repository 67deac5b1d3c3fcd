import assert from 'node:assert/strict';
import { table } from '../../support/table.ts';
import { parsePrometheus } from '../../support/prometheus.ts';

const head = (name: string, type = 'gauge') => `# HELP ${name} Help.\n# TYPE ${name} ${type}\n`;
const buckets = (text: string) => `${head('h', 'histogram')}${text}`;
const good = [
  { page: '' },
  { page: `${head('a')}a 1\n` },
  { page: `${head('a')}a{x="1",y="\\"\\\\\\n{},="} +Inf 1700000000000\na{x="2",y=""} NaN\n` },
  { page: buckets('h_bucket{le="0.5"} 1\nh_bucket{le="+Inf"} 3\nh_sum 1.5e-07\nh_count 3\n') },
  { page: `# HELP a One\\nand \\\\two.\n# TYPE a counter\na 1\n${head('b')}b{c="1"} -1\n` },
];
const bad = [
  { why: 'no newline at the end', page: `${head('a')}a 1` },
  { why: 'no TYPE', page: 'a 1\n' },
  { why: 'no HELP', page: '# TYPE a gauge\na 1\n' },
  { why: 'HELP of another metric', page: '# HELP b Help.\n# TYPE a gauge\na 1\n' },
  { why: 'HELP twice', page: `# HELP a Help.\n${head('a')}a 1\n` },
  { why: 'HELP at the end', page: `${head('a')}a 1\n# HELP b Help.\n` },
  { why: 'HELP with an unknown escape', page: '# HELP a \\t\n# TYPE a gauge\na 1\n' },
  { why: 'TYPE twice', page: `${head('a')}a 1\n${head('a')}a{x="1"} 1\n` },
  { why: 'an unknown type', page: `${head('a', 'untyped')}a 1\n` },
  { why: 'no sample', page: `${head('a')}${head('b')}b 1\n` },
  { why: 'no sample at the end', page: `${head('b')}b 1\n${head('a')}` },
  { why: 'a sample of another metric', page: `${head('a')}b 1\n` },
  { why: 'a sample of a metric that came before', page: `${head('a')}a{x="1"} 1\n${head('b')}b 1\na{x="2"} 1\n` },
  { why: 'a series twice', page: `${head('a')}a{x="1",y="2"} 1\na{y="2",x="1"} 1\n` },
  { why: 'other labels', page: `${head('a')}a{x="1"} 1\na{y="1"} 1\n` },
  { why: 'a label twice', page: `${head('a')}a{x="1",x="2"} 1\n` },
  { why: 'a reserved label', page: `${head('a')}a{__x="1"} 1\n` },
  { why: 'the label le', page: `${head('a')}a{le="1"} 1\n` },
  { why: 'a label with a bad name', page: `${head('a')}a{x-y="1"} 1\n` },
  { why: 'a label with a quote', page: `${head('a')}a{x="1"2"} 1\n` },
  { why: 'a label with an unknown escape', page: `${head('a')}a{x="\\t"} 1\n` },
  { why: 'a label with a line feed', page: `${head('a')}a{x="1\n"} 1\n` },
  { why: 'half a character', page: `${head('a')}a{x="\uFFFD"} 1\n` },
  { why: 'empty braces', page: `${head('a')}a{} 1\n` },
  { why: 'a number of JavaScript', page: `${head('a')}a Infinity\n` },
  { why: 'an exponent of one digit', page: `${head('a')}a 1e+6\n` },
  { why: 'no value', page: `${head('a')}a\n` },
  { why: 'a timestamp with a fraction', page: `${head('a')}a 1 1.5\n` },
  { why: 'an empty line', page: `${head('a')}a 1\n\n` },
  { why: 'a counter below zero', page: `${head('a', 'counter')}a -1\n` },
  { why: 'a counter without a value', page: `${head('a', 'counter')}a NaN\n` },
  { why: 'a histogram without +Inf', page: buckets('h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n') },
  { why: 'a histogram without count', page: buckets('h_bucket{le="+Inf"} 1\nh_sum 1\n') },
  { why: 'a histogram without sum', page: buckets('h_bucket{le="+Inf"} 1\nh_count 1\n') },
  { why: 'a histogram with a sample of its own', page: buckets('h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\nh 1\n') },
  { why: 'a histogram with another count', page: buckets('h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n') },
  { why: 'buckets that fall', page: buckets('h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n') },
  { why: 'buckets in another order', page: buckets('h_bucket{le="+Inf"} 1\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n') },
  { why: 'a bucket without le', page: buckets('h_bucket 1\nh_sum 1\nh_count 1\n') },
  { why: 'a histogram whose labels differ', page: buckets('h_bucket{le="+Inf",x="1"} 1\nh_sum{x="1"} 1\nh_count{y="1"} 1\n') },
  {
    why: 'a metric with the name of a part',
    page: `${buckets('h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n')}${head('h_count')}h_count 1\n`,
  },
];
table('parsePrometheus', (row) => {
  for (const { page } of good) row(`accepts ${JSON.stringify(page)}`, () => void parsePrometheus(page));
  for (const { why, page } of bad) row(`refuses ${why}`, () => assert.throws(() => parsePrometheus(page), { code: 'ERR_ASSERTION' }));
});
