/**
 * What happens beside an import: two people import the same replies, or a program writes to the
 * file.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importRequests } from '../../src/imports/enqueue-file.ts'
import { openImportBuffer } from '../../src/imports/import-buffer.ts'
import { conversation, openOutbox } from '../outbox/batch-fixture.ts'
import { databases } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'

for (const database of databases)
  test(`the same words that another file queues during the check are a mistake — ${database.name}`, async () => {
    const { admin } = await openOutbox(database)
    const folder = createTempFolder()
    const importAs = async (name: string, onChecked: () => Promise<void>) => {
      const path = join(folder, name)
      await writeFile(
        path,
        `operation,conversation_id,content,sender_name\nmessage,${conversation(1)},Hello,${name}\n`,
      )
      const buffer = await openImportBuffer(path)
      const rules = {
        approveOver: null,
        draft: false,
        allowDuplicates: false,
        mistakesTarget: null,
        now: Date.now(),
      }
      const people = { project: 'shop', createdBy: name, expiresAt: null, title: null, note: null }
      const options = { ...rules, ...people, onChecked, onProgress: () => {} }
      return importRequests(admin, { buffer, name, parse: {} }, options).finally(buffer.close)
    }
    const first = await importAs('ann', async () => {
      expect(await importAs('bea', async () => {})).toMatchObject({ outcome: 'queued', queued: 1 })
    })
    expect(first).toMatchObject({ outcome: 'mistaken', kinds: [{ override: 'allow-duplicates' }] })
    expect(await admin.countByStatus({})).toEqual({ queued: 1 })
  })

const header = 'operation,conversation_id,content,sender_name'
const row = (n: number) => `message,${conversation(n)},Hello,Ann`

for (const [what, changed] of [
  ['its header', ['Operations', row(1)]],
  [
    'a quote that is not closed for 9 MiB',
    [header, row(1), `message,${conversation(2)},"${`${'x'.repeat(999)}\n`.repeat(9600)}`],
  ],
] as const)
  test(`a file that changes after its check queues nothing: ${what}`, async () => {
    const { admin } = await openOutbox(databases[0]!)
    const path = join(createTempFolder(), 'replies.csv')
    await writeFile(path, [header, row(1), row(2)].join('\n'))
    const buffer = await openImportBuffer(path)
    const rules = {
      approveOver: null,
      draft: false,
      allowDuplicates: false,
      mistakesTarget: null,
      now: Date.now(),
    }
    const people = { project: 'shop', createdBy: 'ann', expiresAt: null, title: null, note: null }
    const onChecked = () => writeFile(path, changed.join('\n'))
    const options = { ...rules, ...people, onChecked, onProgress: () => {} }
    const importing = importRequests(admin, { buffer, name: path, parse: {} }, options).finally(
      buffer.close,
    )
    await expect(importing).rejects.toMatchObject({ why: 'it changed while it was read' })
    expect(await admin.countByStatus({})).toEqual({})
  })
