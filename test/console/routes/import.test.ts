/** Importing a file in the browser, over HTTP. */

import { describe, expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import { createWorkbookWriter } from '../../../src/export/writers/workbook-writer.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { createMemoryOutput, readWorkbook } from '../../export/export-world.ts'
import { commit, conversation, visitor } from '../../warehouse/row-fixtures.ts'
import { person, startConsole, useConsole } from './console-server.ts'
import { csv, fillTargets, importFile, targets } from './import-file.ts'

const console = useConsole(fillTargets)

/** A row with so many characters, its line end among them. */
const rowOf = (length: number) => {
  const [start, end] = [`message,${targets[0]},`, ',Ann\n']
  return start + 'y'.repeat(length - start.length - end.length) + end
}

/** What a browser sends of the form in the page: its own values, and those that a person chose. */
async function submit(text: string, action: RegExp, chosen: Record<string, string>) {
  const form = new RegExp(`<form[^>]*action="([^"]*${action.source}[^"]*)"[\\s\\S]*?</form>`).exec(
    text,
  )
  const fields = new URLSearchParams()
  for (const [, name = '', value = ''] of (form?.[0] ?? '').matchAll(
    /<input type="hidden" name="([^"]*)" value="([^"]*)"/g,
  ))
    fields.set(name, value.replaceAll('&quot;', '"'))
  const selects = (form?.[0] ?? '').matchAll(
    /<b><bdi>([^<]*)<\/bdi>[\s\S]*?<select name="(\w+)"[\s\S]*?<\/select>/g,
  )
  for (const [select, title = '', name = ''] of selects)
    fields.set(name, chosen[title] ?? /<option value="(\w*)" selected>/.exec(select)?.[1] ?? '')
  const headers = {
    cookie: await console.signIn('olga'),
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
  }
  return console.ask(form?.[1] ?? '', { method: 'POST', headers, body: fields.toString() })
}

describe('a sheet of replies', () => {
  const sheet = (n: number, words: string) =>
    `Chat,Wir sagen,Fertig\n${targets[n]},"${words}\nAnn",ja\n${targets[n + 1]},,\n`

  test('is imported after a person has said what its columns are, and the next one is read alike', async () => {
    const asked = await importFile(console, 'sheet.csv', sheet(10, 'Hallo,'), {
      senderName: 'Ann',
      title: 'Montag',
    })
    expect(asked.status).toBe(422)
    expect(asked.text).toMatch(/What its columns are[\s\S]*Wir sagen[\s\S]*such as[\s\S]*Hallo/)
    const chosen = { 'Wir sagen': 'content' }
    const done = await submit(asked.text, /import\/columns/, chosen)
    expect(done.status).toBe(303)
    const outbox = createOutbox(console.warehouse.projectDb('main'))
    const batch = decodeURIComponent(
      new URL(String(done.headers.location), 'http://x').pathname.split('/').at(-1) ?? '',
    )
    expect(await outbox.findBatch(batch)).toMatchObject({
      title: 'Montag',
      source: 'sheet.csv',
      counts: { draft: 2 },
    })
    expect(
      (await outbox.list({ batch }, 9)).map(({ sourceRow, operation, payload }) => [
        sourceRow,
        operation,
        payload,
      ]),
    ).toEqual([
      [2, 'message', { content: 'Hallo,\nAnn', sender_name: 'Ann' }],
      [2, 'handled', { handled: true }],
    ])
    const page = await console.ask(String(done.headers.location), {
      headers: { cookie: await console.signIn('olga') },
    })
    expect(page.text.match(/>2<\/a>/g)).toHaveLength(2)

    const next = await importFile(console, 'next.csv', sheet(20, 'Guten Tag,'), {
      senderName: 'Ann',
    })
    expect(next.status).toBe(303)
    expect(
      (await importFile(console, 'sheet.csv', sheet(10, 'Hallo,'), { senderName: 'Ann' })).text,
    ).toContain('the same file was imported before')
  })

  test('whose columns are said wrongly is asked for again, with what was said', async () => {
    const asked = await importFile(console, 'wrong.csv', `Chat,Dies,Das\n${targets[30]},a,b\n`, {
      senderName: 'Ann',
    })
    const again = await submit(asked.text, /import\/columns/, { Dies: 'content', Das: 'content' })
    expect([again.status, again.text.includes('appears twice')]).toEqual([422, true])
    expect((await submit(again.text, /import\/columns/, { Das: 'ignored' })).status).toBe(303)
  })

  test('of one person is not there for another', async () => {
    const asked = await importFile(console, 'mine.csv', `Chat,Worte\n${targets[31]},a\n`)
    const address = /action="([^"]*import\/columns[^"]*)"/.exec(asked.text)?.[1] ?? ''
    const headers = { cookie: await console.signIn('ann'), 'sec-fetch-site': 'same-origin' }
    expect((await console.ask(address, { method: 'POST', headers, body: '' })).text).toContain(
      'no longer kept here',
    )
  })

  test('without a reply queues nothing and says so', async () => {
    const { text } = await importFile(
      console,
      'empty.csv',
      `conversation_id,content\n${targets[32]},\n`,
    )
    expect(text).toContain('no row has a reply or a flag; 1 row is empty')
    const nothing = await importFile(console, 'nothing.csv', 'conversation_id,content\n')
    expect([nothing.status, nothing.text]).toEqual([
      422,
      expect.stringContaining('the file has no rows'),
    ])
  })

  test('that nobody signs says where that can be written', async () => {
    const { status, text } = await importFile(
      console,
      'unsigned.csv',
      `conversation_id,content\n${targets[35]},Hallo.\n`,
    )
    expect([status, text]).toEqual([
      422,
      expect.stringContaining('Who signs the replies of a sheet that name no sender'),
    ])
    const named = `conversation_id,content,sender_name\n${targets[35]},#N/A,Ann\n`
    expect((await importFile(console, 'signed.csv', named)).text).not.toContain(
      'name no sender can be',
    )
  })

  test('that was queued before says so, and which rows differ', async () => {
    const rows = (first: string, ...others: string[]) =>
      `conversation_id,content,ref\n${[`${targets[33]},${first},own-1`, ...others].join('\n')}\n`
    const importRows = (name: string, text: string) =>
      importFile(console, name, text, { senderName: 'Ann' })
    expect((await importRows('one.csv', rows('Hallo.'))).status).toBe(303)
    const same = await importRows('same.csv', rows('Hallo.', `${targets[34]},,`))
    expect([same.status, same.text]).toEqual([
      200,
      expect.stringMatching(/0 write-backs queued as drafts.*1 write-back of the file was/),
    ])
    const other = await importRows('other.csv', rows('Guten Tag.', `${targets[34]},Hallo.,`))
    expect(other.text).toMatch(
      /1 write-back queued as drafts[\s\S]*was queued before for another write-back[\s\S]*batches\/other-/,
    )
    expect(other.text).toMatch(/What differs from what was queued is not sent/)
  })

  test('that names an address of several conversations shows which could be meant', async () => {
    const { text } = await importFile(console, 'zoe.csv', 'Kunde,Antwort\nZoë,Hallo\n', {
      senderName: 'Ann',
    })
    expect(text).toContain('several conversations could be meant')
    expect(text).not.toContain('conversation_id: is missing')
    expect(text).toMatch(/00000000-0000-4000-8000-\d{12} Zoë, open, last /)
  })

  test('finds nobody by an address for a person who may not read messages', async () => {
    const people = [person('olga', 'operator', true)]
    const all = await startConsole(fillTargets, {
      access: { people: () => people, httpToken: null },
    })
    const { status, text } = await importFile(all, 'zoe.csv', 'Kunde,Antwort\nZoë,Hallo\n', {
      senderName: 'Ann',
    })
    expect([status, text.includes('finds nobody by an address or a name')]).toEqual([422, true])
    expect(text).not.toContain('several conversations could be meant')
  })

  test('that names an address of one conversation shows what it has found', async () => {
    const main = openMirror(console.warehouse, 'main')
    await main.commit(
      commit('visitors', [visitor('v9', {}, { name: null, email: 'eva@example.org' })]),
    )
    const id = '00000000-0000-4000-8000-000000000999'
    await main.commit(commit('conversations', [conversation(id, { visitor_id: 'v9' })]))
    const { status, text } = await importFile(
      console,
      'eva.csv',
      'E-Mail,Antwort\neva@example.org,Hallo\n',
      {
        senderName: 'Ann',
      },
    )
    expect([status, text]).toEqual([
      200,
      expect.stringMatching(/1 write-back queued as drafts\.<\/b><\/p>/),
    ])
    expect(text).toMatch(
      new RegExp(`found by the visitor[\\s\\S]*eva@example\\.org → ${id} eva@example\\.org, open`),
    )
    const [, address = ''] = /href="([^"]*batches\/eva-[^"]*)"/.exec(text) ?? []
    const batch = await console.ask(address, { headers: { cookie: await console.signIn('ann') } })
    expect(batch.text).toContain('<bdi>eva@example.org</bdi>')
    expect(batch.text).toMatch(/found by <bdi>[^<]*eva@example\.org → /)
  })

  test('is downloaded from a list of conversations, and imported as it is', async () => {
    const get = (path: string, person = 'olga') => console.get(path, person)
    expect((await get('visitors/v1')).text).toContain('/console/p/main/sheet?visitor=v1')
    const { text, headers } = await get('sheet?visitor=v1', 'vera')
    expect(headers['content-disposition']).toMatch(
      /^attachment; filename="visitor-\d{4}-\d\d-\d\d\.csv"$/,
    )
    expect(text.split('\r\n')).toHaveLength(62)
    const filled = text.replace(/(40,Zoë,[^\r]*?),,,,,sheet/, '$1,Hier.,,Ann,,sheet')
    const imported = await importFile(console, 'downloaded.csv', filled)
    expect(imported.status).toBe(303)
    const batch = await console.ask(imported.location, {
      headers: { cookie: await console.signIn('ann') },
    })
    expect(batch.text).toContain('59 rows of the file without a reply or a flag were left out.')
    expect((await get('visitors/v1')).text).toContain('sheet?visitor=v1&amp;format=xlsx')
    expect((await get('sheet?visitor=v1&format=csv&separator=%3B')).text).toContain('visitor_name;')
    expect((await get('sheet?template=yes')).text).toContain(
      'not sent if a visitor has written since',
    )
  })
})

test('a workbook is downloaded, filled, uploaded, and its mistakes are given back as one', async () => {
  const cookie = await console.signIn('olga')
  const download = async (path: string) => {
    const response = await fetch(`${console.address}${path}`, { headers: { cookie } })
    expect(response.headers.get('content-type')).toMatch(/spreadsheetml\.sheet$/)
    expect(response.headers.get('content-disposition')).toMatch(/filename="[\w-]+\.xlsx"$/)
    return new Uint8Array(await response.arrayBuffer())
  }
  /** As a person fills all rows. */
  const fill = async (bytes: Uint8Array, words: string) => {
    const [names = [], ...rows] = await readWorkbook(bytes)
    const output = createMemoryOutput()
    const columns = names.map((name) => ({ name: String(name), type: 'text' }) as const)
    const writer = createWorkbookWriter('Sheet1', columns, output)
    const filled = { content: words, sender_name: 'Ann', ref: '' } as Readonly<
      Record<string, string>
    >
    await writer.write(
      rows.map((row) => columns.map(({ name }, n) => filled[name] ?? String(row[n] ?? ''))),
    )
    await writer.end()
    return Uint8Array.from(output.bytes())
  }
  const sheet = await download('/console/p/main/sheet?visitor=v1&format=xlsx')
  const wrong = await importFile(console, 'a.xlsx', await fill(sheet, '#REF!'))
  expect([wrong.status, wrong.text.includes('is the error of a formula')]).toEqual([422, true])
  const [, address = ''] = /href="([^"]*import\/mistakes[^"]*)"/.exec(wrong.text) ?? []
  const mistakes = await download(address)
  const right = await importFile(console, 'b.xlsx', await fill(mistakes, 'Hier ist es.'))
  expect(right.status).toBe(303)
  const batch = await console.ask(right.location, { headers: { cookie } })
  expect(batch.text).toContain('Hier ist es.')
})

test('the form says which columns each operation has', async () => {
  const { text } = await console.ask('/console/p/main/import', {
    headers: { cookie: await console.signIn('olga') },
  })
  for (const columns of [
    'conversation_id content sender_name',
    'conversation_id handled',
    'visitor_id name email',
  ])
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
    expect(wrong.text).toMatch(
      /1 of 3 filled rows has a mistake[\s\S]*conversation_id: is not a UUID/,
    )
    const address = /href="([^"]*\/import\/mistakes\/[^"]*)"/.exec(wrong.text)?.[1] ?? ''
    const get = async (person: string) =>
      console.ask(address, { headers: { cookie: await console.signIn(person) } })
    const { headers, text } = await get('olga')
    expect(headers['content-disposition']).toBe('attachment; filename="mistakes.csv"')
    expect(text).toContain('is not a UUID')
    expect((await get('ann')).status).toBe(404)
  })

  test('names a mistake of many rows once', async () => {
    const rows = Array.from({ length: 20 }, () => 'message,nobody,Words,Ann').join('\n')
    const { text } = await importFile(
      console,
      'many.csv',
      `operation,conversation_id,content,sender_name\n${rows}\n`,
    )
    expect(text).toContain('20 of 20 filled rows have mistakes')
    expect(text.match(/is not a UUID/g)).toHaveLength(1)
    expect(text).toContain('2–21')
  })

  test('has a name without characters that control a terminal or that Postgres does not store', async () => {
    const head = `content-disposition: form-data; name="file"; filename*=utf-8''a%00b%1b.csv\r\ncontent-type: text/csv`
    const body = `--x\r\n${head}\r\n\r\n${csv([targets[51] ?? ''], 'Named.')}\r\n--x--\r\n`
    const headers = {
      cookie: await console.signIn('olga'),
      'sec-fetch-site': 'same-origin',
      'content-type': 'multipart/form-data; boundary=x',
    }
    const { status } = await console.ask('/console/p/main/import', {
      method: 'POST',
      headers,
      body,
    })
    expect(status).toBe(303)
    const [event] = await createAuditLog(console.warehouse.db).list(null, 1)
    expect(event?.detail).toBe('a b .csv')
  })

  test('that repeats words is refused, and let through if the person says so', async () => {
    const twice = csv([targets[50] ?? '', targets[50] ?? ''], 'Twice.')
    expect((await importFile(console, 'twice.csv', twice)).text).toContain(
      'the same words to the same conversation',
    )
    const { status, location } = await importFile(console, 'twice.csv', twice, {
      title: 'Twice',
      allowDuplicates: 'yes',
    })
    expect(status).toBe(303)
    const batch = await createOutbox(console.warehouse.projectDb('main')).findBatch(
      location.split('/').at(-1) ?? '',
    )
    expect([batch?.title, batch?.createdBy, batch?.counts]).toEqual(['Twice', 'olga', { draft: 2 }])
    expect(
      (await importFile(console, 'again.csv', twice, { allowDuplicates: 'yes' })).text,
    ).toContain('the same file was imported before')
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
    const large = await importFile(console, 'large.csv', cut + rowOf(200), {
      allowDuplicates: 'yes',
    })
    expect([large.status, large.text.includes('larger than 20 MB')]).toEqual([422, true])
    const headers = {
      cookie: await console.signIn('olga'),
      'sec-fetch-site': 'same-origin',
      'content-type': 'multipart/form-data; boundary=B',
    }
    const body = `--B\r\nContent-Disposition: form-data; name="file"; filename="cut.csv"\r\n\r\n${csv(targets, 'Cut.')}\n`
    const ended = await console.ask('/console/p/main/import', { method: 'POST', headers, body })
    expect([ended.status, ended.text.includes('did not arrive whole')]).toEqual([422, true])
    const batches = await createOutbox(console.warehouse.projectDb('main')).listBatches(20)
    expect(batches.filter(({ id }) => /large|cut/.test(id))).toEqual([])
  })

  test.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${'x'.repeat(300)}`,
    'multipart/form-data; boundary=another',
    'multipart/mixed; boundary=B',
  ])('in a form that cannot be read is a mistake of the sender: %s', async (type) => {
    const headers = {
      cookie: await console.signIn('olga'),
      'sec-fetch-site': 'same-origin',
      'content-type': type,
    }
    const head = 'Content-Disposition: form-data; name="file"; filename="a.csv"'
    const body = `--B\r\n${head}\r\n\r\n${csv(targets)}\r\n--B--\r\n`
    const { status } = await console.ask('/console/p/main/import', {
      method: 'POST',
      headers,
      body,
    })
    expect([400, 415]).toContain(status)
  })

  test('is needed', async () => {
    expect((await importFile(console, '', '')).status).toBe(400)
    expect((await importFile(console, 'words.csv', '\u0000\u0001')).status).toBe(422)
  })
})
