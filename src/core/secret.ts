/** A text that must never be printed: inspect, JSON and templates show `[secret]` instead. */
export type Secret = { readonly reveal: () => string; readonly toJSON: () => string; readonly toString: () => string }

const hidden = () => '[secret]'

export function secret(value: string): Secret {
  const wrapped = { reveal: () => value, toJSON: hidden, toString: hidden }
  return Object.defineProperty(wrapped, Symbol.for('nodejs.util.inspect.custom'), { value: hidden, enumerable: false })
}
