/** Rows that name a text of `replies`: filled from the mirror, or a mistake like any other. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { openImportBuffer } from '../../src/imports/import-buffer.ts'
import { readImportLines } from '../../src/imports/open-file.ts'
import { prepareReplies } from '../../src/imports/prepare-replies.ts'
import { describeMistakes } from '../../src/outbox/core/writeback-request.ts'
import { fillTemplate, findPlaceholder, templateProblem } from '../../src/values/reply-template.ts'
import { databases } from '../support/databases.ts'
import { commit, conversation, visitor } from '../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../warehouse/test-warehouse.ts'

const idOf = (n: number) => `0000000a-0000-4000-8000-${String(n).padStart(12, '0')}`
const [ada, nobody, unknown] = [idOf(1), idOf(2), idOf(3)]
const replies = {
  thanks: 'Dear {{name}},\nyou wrote on {{ date }}. {{sender}}',
  plain: 'It is on its way.',
}

for (const database of databases)
  test(`a row has the words of the text that it names — ${database.name}`, async () => {
    const { warehouse } = await openTestWarehouse(database)
    const main = openMirror(warehouse, 'main')
    const people = [visitor('v1', {}, { name: 'Ada $& "L"' }), visitor('v2', {}, { name: null })]
    await main.commit(commit('visitors', people))
    const late = { created_at: '2026-01-31T23:30:00Z' }
    await main.commit(
      commit('conversations', [
        conversation(ada, { visitor_id: 'v1', ...late }),
        conversation(nobody, { visitor_id: 'v2', ...late }),
      ]),
    )
    const read = async (text: string, texts: Readonly<Record<string, string>> = replies) => {
      const buffer = await openImportBuffer(Readable.from([Buffer.from(text)]))
      try {
        const file = { buffer, name: null, parse: {} }
        const settings = { replies: texts, timeZone: 'Europe/Berlin' }
        const filled = await prepareReplies(warehouse.projectDb('main'), file, settings)
        const lines = await Array.fromAsync(readImportLines(filled))
        return lines.map(({ result }) =>
          result.ok ? Object(result.request.payload).content : describeMistakes(result.mistakes),
        )
      } finally {
        await buffer.close()
      }
    }
    const known = 'Dear Ada $& "L",\nyou wrote on 2026-02-01. Bo'
    const isMissing = 'template: has {{name}}, which the mirror does not know of this visitor'
    const sheet = [
      'conversation_id,content,template,sender_name',
      `${ada.toUpperCase()},,thanks,Bo`,
      `${nobody},,plain,Bo`,
      `${nobody},,thanks,Bo`,
      `${unknown},,thanks,Bo`,
      `${ada},,other,Bo`,
      `${ada},Mine,thanks,Bo`,
      `${ada},Mine,,Bo`,
      `${ada},,,`,
    ]
    expect(await read(sheet.join('\n'))).toEqual([
      ...[known, replies.plain, isMissing],
      'template: has {{name}} and {{date}}, which the mirror does not know of this visitor',
      'template: is not a name in `replies` of the configuration',
      'template: is given besides content: leave one of the two out',
      'Mine',
    ])
    const lines = [
      { operation: 'message', conversation_id: ada, template: 'thanks', sender_name: 'Bo' },
      { operation: 'note', visitor_id: ada, template: 'thanks' },
      { operation: 'message', conversation_id: ada, template: '__proto__', sender_name: 'Bo' },
    ]
    const jsonl = lines.map((line) => JSON.stringify(line)).join('\n')
    expect(await read(jsonl)).toEqual([
      known,
      'template: is not a field of this operation',
      'template: is not a name in `replies` of the configuration',
    ])
    const named = `operation,conversation_id,template,sender_name\nmessage,${ada},plain,Bo\n`
    expect(await read(named)).toEqual([replies.plain])
    expect(await read(named, {})).toEqual([
      'template: is not a name in `replies` of the configuration',
    ])
  })

test('a text has placeholders that are known, and nothing that looks like one', () => {
  for (const right of ['Hello', '{name}', 'Dear {{name}} {{ email }}', '{{date}}{{sender}}'])
    expect(templateProblem(right), right).toBeUndefined()
  for (const wrong of ['{{nmae}}', '{{name', 'name}}', '{{}}', '{{toString}}'])
    expect(templateProblem(wrong), wrong).toMatch(/there are \{\{name\}\}, \{\{email\}\}/)
  const values = { name: 'Ada', email: ' ', date: null, sender: '{{email}}' }
  // What a value has is not filled again.
  expect(fillTemplate('{{sender}} {{name}} {{email}} {{date}}', values)).toEqual({
    content: '{{email}} Ada {{email}} {{date}}',
    missing: ['{{email}}', '{{date}}'],
  })
  expect([findPlaceholder('Dear {{ name }}'), findPlaceholder('{{x}}')]).toEqual([
    '{{ name }}',
    undefined,
  ])
})
