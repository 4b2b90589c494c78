/** Fixtures for imports: arbitrary valid requests, and helpers to parse files. */
import fc from 'fast-check'
import { maxLengths } from '../../schema/operation-specs.ts'
import type { ImportLookups } from '../../src/imports/check-lines.ts'
import { detectFileForm, type FileForm } from '../../src/imports/file-form.ts'
import type { ImportFile } from '../../src/imports/open-file.ts'
import { type ImportLine, parseLines } from '../../src/imports/parse-lines.ts'
import { textDamage } from '../../src/imports/spreadsheet-damage.ts'
import type { WritebackRequest } from '../../src/outbox/core/writeback-request.ts'
import { mistakeText } from '../../src/outbox/core/writeback-request.ts'
import { cleanKey } from '../../src/values/invisible.ts'

export const conversation = '0b6d6f3e-1111-4222-8333-444455556666'
export const visitor = '9f8e7d6c-aaaa-4bbb-8ccc-ddddeeeeffff'

export async function* chunks(
  ...texts: readonly (string | Uint8Array)[]
): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

export async function parseAllLines(
  file: string | Uint8Array,
  options: FileForm['format'] | 'auto' | ImportFile['parse'] = 'auto',
): Promise<ImportLine[]> {
  const parse = typeof options === 'string' ? { format: options } : options
  return Array.fromAsync(parseLines(chunks(file), detectFileForm(Buffer.from(file), parse), parse))
}

/** `line: operation`, or `line: why; why` for a mistake. */
export function summarizeLine({ line, result }: ImportLine): string {
  return `${line}: ${result.ok ? result.request.operation : result.mistakes.map(mistakeText).join('; ')}`
}

/** Texts that are easily misread as syntax. */
export const trickyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.constantFrom(
        ...[
          '=',
          '+',
          '-',
          '@',
          "'",
          '#N/A',
          'NULL',
          '1E+5',
          '"',
          ',',
          ';',
          '\t',
          '\r',
          '\n',
          ' ',
          'null',
          'a',
          '＝',
          '\uFEFF',
        ],
      ),
    )
    .map((parts) => parts.join('')),
)

/**
 * A text of which nothing can be seen, such as the filler of Hangul, counts as empty: nobody would
 * know who wrote.
 */
const visible = /[^\s\p{Default_Ignorable_Code_Point}]/u

function text(maxLength: number) {
  return trickyText
    .map((value) => value.slice(0, maxLength))
    .filter(
      (value) => visible.test(value) && value.isWellFormed() && !/[\p{Cc}--[\n\r\t]]/v.test(value),
    )
    .filter((value) => textDamage(value) === undefined)
}

const singleLineText = (maxLength: number) =>
  text(maxLength).filter((value) => !/[\n\r\t]/.test(value))

const commonFields = {
  ref: fc.option(
    singleLineText(maxLengths.ref)
      .map(cleanKey)
      .filter((key) => key !== ''),
  ),
  expect: fc.constantFrom(null, '7', '9007199254740993', '2026-01-31T18:00:00Z'),
  expiresAt: fc.constantFrom(null, '2026-02-01T00:00:00Z'),
}
const content = text(maxLengths.content)
/** Names and addresses lose outer spaces in CSV. */
const trimmedText = (maxLength: number) => singleLineText(maxLength).map((value) => value.trim())
const nullable = fc.option(trimmedText(maxLengths.name))

export const anyRequest: fc.Arbitrary<WritebackRequest> = fc.oneof(
  fc.record({
    operation: fc.constant('message' as const),
    target: fc.uuid(),
    payload: fc.record({ content, sender_name: trimmedText(maxLengths.name) }),
    ...commonFields,
  }),
  fc.record({
    operation: fc.constant('handled' as const),
    target: fc.uuid(),
    payload: fc.record({ handled: fc.boolean() }),
    ...commonFields,
  }),
  fc.record({
    operation: fc.constant('visitor' as const),
    target: fc.uuid(),
    payload: fc.oneof(
      fc.record({ name: nullable }),
      fc.record({ email: nullable }),
      fc.record({ name: nullable, email: nullable }),
    ),
    ...commonFields,
  }),
  fc.record({
    operation: fc.constant('note' as const),
    target: fc.uuid(),
    payload: fc.record({ content }),
    ...commonFields,
  }),
)

/** A warehouse into which nothing was queued. */
export const emptyLookups: ImportLookups = {
  findImport: async () => null,
  findQueuedRefs: async () => new Map(),
  listReplies: async () => [],
}
