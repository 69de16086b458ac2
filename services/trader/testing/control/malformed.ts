import type { JsonObject } from '@hermes-fleet/protocol';
import type { ControlCode } from '@hermes-fleet/protocol/control';

/** A payload that is rejected as malformed: the code and field of an error of its answer, or a word in the message. */
export type Malformed = readonly [
  what: string,
  text: string,
  code: ControlCode,
  field?: string | undefined,
  mentions?: string,
];

const DEEP = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
const CONFIDENCES = ['null', '"0.8"', 'true', '1.01', '-0.01', '-1e-9', '1e400', '[0.8]', '{}', '""'];

/** Malformed changes of a payload that is well formed. None is coerced. */
export function malformedPayloads(payload: JsonObject): readonly Malformed[] {
  const text = JSON.stringify(payload);
  /** The payload with a field replaced by raw text. */
  const withText = (name: string, value: string): string => {
    const { [name]: _old, ...rest } = payload;
    return `${JSON.stringify(rest).slice(0, -1)},${JSON.stringify(name)}:${value}}`;
  };
  const wrong = (field: string, value: string): Malformed => [
    `${field} ${value.slice(0, 40)}`,
    withText(field, value),
    'invalid_payload',
    field,
  ];
  const unknown = (field: string, value: string): Malformed => [
    `${field} ${value.slice(0, 40)}`,
    withText(field, value),
    'invalid_payload',
    undefined,
    field,
  ];
  return [
    ...CONFIDENCES.map((value) => wrong('confidence', value)),
    ...['"true"', 'null', '1'].map((value) => wrong('override', value)),
    wrong('dry_run', '"false"'),
    unknown('overide', 'true'),
    unknown('__proto__', '{"override":true}'),
    unknown('constructor', '{"prototype":{"override":true}}'),
    unknown('extra', '"\\ud800"'),
    ...['"stop"', '"keep"', '"PAUSE"'].map(
      (value): Malformed => [`action ${value}`, withText('action', value), 'unsupported_action', 'action'],
    ),
    wrong('action', '["pause"]'),
    [
      'an unknown risk mode',
      JSON.stringify({ ...payload, action: 'set_risk_mode', risk_mode: 'off' }),
      'invalid_payload',
      'risk_mode',
    ],
    ['no risk mode', withText('action', '"set_risk_mode"'), 'invalid_payload', 'risk_mode'],
    ['no target', withText('action', '"switch"'), 'invalid_payload', 'target_strategy_id'],
    ['a field twice', `${text.slice(0, -1)},"confidence":1}`, 'invalid_payload', 'confidence'],
    [
      'a field twice, once escaped',
      `${text.slice(0, -1)},"override":true,"overr\\u0069de":false}`,
      'invalid_payload',
      'override',
    ],
    wrong('decision_id', '""'),
    wrong('decision_id', '"\\ud800"'),
    wrong('decision_id', '"a\\u0000b"'),
    wrong('reason', '"\\udfff"'),
    wrong('reason', `"${'x'.repeat(1001)}"`),
    wrong('reason', DEEP),
    wrong('requested_at', '"2026-04-16T20:15:00"'),
    ['a batch', `[${text},${text}]`, 'invalid_payload'],
    ['an empty batch', '[]', 'invalid_payload'],
    ['an empty object', '{}', 'invalid_payload', 'decision_id'],
    ['null', 'null', 'invalid_payload'],
    ['a string', JSON.stringify(text), 'invalid_payload'],
    ['a number', '1', 'invalid_payload'],
    ['deep nesting', DEEP, 'invalid_payload'],
  ];
}
