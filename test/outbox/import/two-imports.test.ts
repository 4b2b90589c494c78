/** Two people import the same replies at the same time: the customer gets them once. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openImportBuffer } from '../../../src/outbox/import/import-buffer.ts'
import { importRequests } from '../../../src/outbox/import/import-file.ts'
import { databases } from '../../support/databases.ts'
import { createTempFolder } from '../../support/temp-folder.ts'
import { conversation, openOutbox, project } from '../batch-fixture.ts'

for (const database of databases)
  test(`the same words that another file queues during the check are a mistake — ${database.name}`, async () => {
    const { warehouse, admin } = await openOutbox(database)
    const folder = createTempFolder()
    const importAs = async (name: string, onChecked: () => Promise<void>) => {
      const path = join(folder, name)
      await writeFile(path, `operation,conversation_id,content,sender_name\nmessage,${conversation(1)},Hello,${name}\n`)
      const buffer = await openImportBuffer(path)
      const rules = { approveOver: null, draft: false, allowDuplicates: false, mistakesPath: null, now: Date.now() }
      const people = { project: 'shop', createdBy: name, expiresAt: null, title: null, note: null }
      const lookups = warehouse.outbox(project)
      const options = { ...rules, ...people, lookups, onChecked, onProgress: () => {} }
      return importRequests(admin, { buffer, name, parse: {} }, options).finally(buffer.close)
    }
    const first = await importAs('ann', async () => {
      expect(await importAs('bea', async () => {})).toMatchObject({ outcome: 'queued', queued: 1 })
    })
    expect(first).toMatchObject({ outcome: 'mistaken', kinds: [{ override: 'allow-duplicates' }] })
    expect(await admin.countByStatus({})).toEqual({ queued: 1 })
  })
