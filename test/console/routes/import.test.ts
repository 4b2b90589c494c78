/** Importing a file in the browser, over HTTP. */

import { describe, expect, test } from 'vitest'
import { createAuditLog } from '../../../src/outbox/sql/audit-log.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { useConsole } from './console-server.ts'
import { csv, fillTargets, importFile, targets } from './import-file.ts'

const console = useConsole(fillTargets)

/** A row with so many characters, its line end among them. */
const rowOf = (length: number) => {
  const [start, end] = [`message,${targets[0]},`, ',Ann\n']
  return start + 'y'.repeat(length - start.length - end.length) + end
}

test('the form says which columns each operation has', async () => {
  const { text } = await console.ask('/console/p/main/import', { headers: { cookie: await console.signIn('olga') } })
  for (const columns of ['conversation_id content sender_name', 'conversation_id handled', 'visitor_id name email'])
    expect(text.replaceAll(/<[^>]*>/g, '')).toContain(columns)
})

describe('a file', () => {
  test('with mistakes queues nothing, says which, and gives the rows back', async () => {
    const wrong = await importFile(
      console,
      'wrong.csv',
      `${csv(targets.slice(0, 2), 'Fine words.')}\nmessage,nobody,Words,Ann\n`,
    )
    expect(wrong.status).toBe(422)
    expect(wrong.text).toMatch(/1 of 3 rows has a mistake[\s\S]*conversation_id: is not a UUID/)
    const address = /href="([^"]*\/import\/mistakes\/[^"]*)"/.exec(wrong.text)?.[1] ?? ''
    const get = async (person: string) => console.ask(address, { headers: { cookie: await console.signIn(person) } })
    const { headers, text } = await get('olga')
    expect(headers['content-disposition']).toBe('attachment; filename="mistakes.csv"')
    expect(text).toContain('is not a UUID')
    expect((await get('ann')).status).toBe(404)
  })

  test('names a mistake of many rows once', async () => {
    const rows = Array.from({ length: 20 }, () => 'message,nobody,Words,Ann').join('\n')
    const { text } = await importFile(console, 'many.csv', `operation,conversation_id,content,sender_name\n${rows}\n`)
    expect(text).toContain('20 of 20 rows have mistakes')
    expect(text.match(/is not a UUID/g)).toHaveLength(1)
    expect(text).toContain('2–21')
  })

  test('has a name without characters that control a terminal or that Postgres does not store', async () => {
    const head = `content-disposition: form-data; name="file"; filename*=utf-8''a%00b%1b.csv\r\ncontent-type: text/csv`
    const body = `--x\r\n${head}\r\n\r\n${csv([targets[51] ?? ''], 'Named.')}\r\n--x--\r\n`
    const headers = {
      ...{ cookie: await console.signIn('olga'), 'sec-fetch-site': 'same-origin' },
      'content-type': 'multipart/form-data; boundary=x',
    }
    const { status } = await console.ask('/console/p/main/import', { method: 'POST', headers, body })
    expect(status).toBe(303)
    const [event] = await createAuditLog(console.warehouse.db).list(null, 1)
    expect(event?.detail).toBe('a b .csv')
  })

  test('that repeats words is refused, and let through if the person says so', async () => {
    const twice = csv([targets[50] ?? '', targets[50] ?? ''], 'Twice.')
    expect((await importFile(console, 'twice.csv', twice)).text).toContain('the same words to the same conversation')
    const { status, location } = await importFile(console, 'twice.csv', twice, {
      title: 'Twice',
      allowDuplicates: 'yes',
    })
    expect(status).toBe(303)
    const batch = await createOutbox(console.warehouse.projectDb('main')).findBatch(location.split('/').at(-1) ?? '')
    expect([batch?.title, batch?.createdBy, batch?.counts]).toEqual(['Twice', 'olga', { draft: 2 }])
    expect((await importFile(console, 'again.csv', twice, { allowDuplicates: 'yes' })).text).toContain(
      'the same file was imported before',
    )
  })

  test('that is too large or did not arrive whole leaves nothing behind', async () => {
    const many = csv(
      Array.from({ length: 5100 }, (_, row) => targets[row % 60] ?? ''),
      'x'.repeat(3950),
    )
    const start = `${many.slice(0, many.lastIndexOf('\n', 19_995_000))}\n`
    // The limit is at the end of a row.
    const half = (20_000_000 - start.length) / 2
    const cut = start + rowOf(Math.floor(half)) + rowOf(Math.ceil(half))
    const large = await importFile(console, 'large.csv', cut + rowOf(200), { allowDuplicates: 'yes' })
    expect([large.status, large.text.includes('larger than 20 MB')]).toEqual([422, true])
    const headers = {
      ...{ cookie: await console.signIn('olga'), 'sec-fetch-site': 'same-origin' },
      'content-type': 'multipart/form-data; boundary=B',
    }
    const body = `--B\r\nContent-Disposition: form-data; name="file"; filename="cut.csv"\r\n\r\n${csv(targets, 'Cut.')}\n`
    const ended = await console.ask('/console/p/main/import', { method: 'POST', headers, body })
    expect([ended.status, ended.text.includes('did not arrive whole')]).toEqual([422, true])
    const batches = await createOutbox(console.warehouse.projectDb('main')).listBatches(20)
    expect(batches.filter(({ id }) => /large|cut/.test(id))).toEqual([])
  })

  test('is needed', async () => {
    expect((await importFile(console, '', '')).status).toBe(400)
    expect((await importFile(console, 'words.csv', '\u0000\u0001')).status).toBe(422)
  })
})
