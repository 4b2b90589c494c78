/** The pages about a period, from the address to the answer. */

import { expect, test } from 'vitest'
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { ProjectConfig } from '../../../src/config/config.ts'
import { projectScreens } from '../../../src/console/routes/screens.ts'
import { readMessages } from '../../analytics/sql/facts-fixtures.ts'
import { readWorkbook } from '../../export/export-world.ts'
import { waitUntil } from '../../support/wait.ts'
import {
  call,
  commitRows,
  conversation,
  message,
  timeAt,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import { fillHostile, screens } from '../hostile-mirror.ts'
import { person, startConsole, useConsole } from './console-server.ts'

const agents = ['=HYPERLINK("http://x","y")', 'Zoë; "Q"', 'Ann']

/** Each agent answers a question more than the one before. */
async function fill(warehouse: Warehouse, project: ProjectConfig) {
  const main = openMirror(warehouse, 'main')
  const ids = agents.map((_, n) => `c${n}`)
  await commitRows(main, {
    visitors: [visitor('v1', {}, { name: 'Secret Name', email: 'secret@example.com' })],
    conversations: ids.map((id) => conversation(id, { visitor_id: 'v1' })),
  })
  for (const [n, id] of ids.entries()) {
    const turns = Array.from({ length: n + 1 }, (_, turn) => [
      message(id, 2 * turn + 1, { sender_type: 'visitor', created_at: timeAt(1000 * turn) }),
      message(id, 2 * turn + 2, {
        sender_type: 'agent',
        sender_display_name: agents[n] ?? '',
        created_at: timeAt(1000 * turn + 7),
      }),
    ])
    await main.commit(readMessages(id, turns.flat()))
  }
  const [answered, missed] = [
    { outcome: 'completed', durationSeconds: 9 },
    { outcome: 'missed', direction: 'inbound' },
  ]
  const calling = { visitorId: 'v1', agent: { id: 'a7', name: 'Robin' }, ...answered }
  const at = { occurred_at: timeAt(60) }
  const calls = [call('k1', at, calling), call('k2', at, missed), call('k3', at, missed)]
  await commitRows(main, { calls })
  await createProjectFacts(warehouse.projectDb('main'), project).refresh()
}

const console = useConsole(fill)
const january = 'from=2026-01-01&to=2026-01-31'
const get = (path: string, name = 'vera', on = console) => on.get(path, name)
const linksOf = (body: string) =>
  [...body.matchAll(/href="([^"]*)"/g)].map(([, to = '']) => to.replaceAll('&amp;', '&'))

test('a table downloads in the order of the page, with exact numbers, and nothing in it runs in a spreadsheet', async () => {
  const { headers, text: body } = await get(`agents?${january}&sort=messages&format=csv`)
  expect(headers['content-disposition']).toBe(
    'attachment; filename="agents-2026-01-01-2026-01-31.csv"',
  )
  expect(body.split('\r\n')).toEqual([
    '\uFEFFagent_name,messages,conversations,answers,answer_median_seconds,answer_p90_seconds',
    `"'=HYPERLINK(""http://x"",""y"")",1,1,1,7,7`,
    `"Zoë; ""Q""",2,1,2,7,7`,
    'Ann,3,1,3,7,7',
    '',
  ])
})

test('… and as a workbook, where numbers are numbers and texts are no formulas', async () => {
  const address = `/console/p/main/agents?${january}&sort=messages&format=xlsx`
  const cookie = await console.signIn('ann')
  const response = await fetch(`${console.address}${address}`, { headers: { cookie } })
  expect(response.headers.get('content-disposition')).toMatch(/agents-[\d-]+\.xlsx"$/)
  const [names, ...rows] = await readWorkbook(new Uint8Array(await response.arrayBuffer()))
  expect(names?.slice(0, 2)).toEqual(['agent_name', 'messages'])
  expect(rows).toEqual([
    ['=HYPERLINK("http://x","y")', 1, 1, 1, 7, 7],
    ['Zoë; "Q"', 2, 1, 2, 7, 7],
    ['Ann', 3, 1, 3, 7, 7],
  ])
})

test('… and days are dates', async () => {
  const address = `/console/p/main/ai?${january}&format=xlsx`
  const cookie = await console.signIn('ann')
  const response = await fetch(`${console.address}${address}`, { headers: { cookie } })
  const [, [day] = []] = await readWorkbook(new Uint8Array(await response.arrayBuffer()))
  expect(day).toEqual(new Date('2026-01-01T00:00:00Z'))
})

test('the conversations behind a number download, all of them and without what the person may not read', async () => {
  const address = `conversations?of=agents&${january}&agent=Ann`
  const link = linksOf((await get(address)).text).find((to) => to.includes('format=csv')) ?? ''
  const { headers, text } = await get(link.slice('/console/p/main/'.length))
  expect(headers['content-disposition']).toBe(
    'attachment; filename="conversations-2026-01-01-2026-01-31.csv"',
  )
  expect(text.split('\r\n')).toEqual([
    '\uFEFFconversation_id,visitor_name,visitor_email,last_utterance_at,handled_at,last_human_name,messages',
    `c2,Secret Name,secret@example.com,${timeAt(2007)},,Ann,6`,
    '',
  ])
  const access = { people: () => [person('hugo', 'viewer', true)], httpToken: null }
  const hidden = await startConsole(fill, { access })
  expect((await get(`${address}&format=csv`, 'hugo', hidden)).text).toContain('c2,,,')
})

test('titles sort, and the period and the agent go with every link to a page about a period', async () => {
  const { text: body } = await get(`agents?${january}&agent=Ann`)
  expect(body).toContain('aria-sort="descending"')
  const links = linksOf(body)
  const kept = `${january}&agent=Ann`
  expect(links).toContain(`/console/p/main/targets?${kept}`)
  expect(links).toContain(`/console/p/main/agents?${kept}&sort=-answers#rows`)
  const behind = links.filter((to) => to.startsWith('/console/p/main/conversations?'))
  expect(behind.length).toBeGreaterThan(1)
  for (const to of behind) {
    const { status, text: list } = await get(to.slice('/console/p/main/'.length))
    expect([status, list.includes('1 conversation<'), list.includes('/conversations/c2')]).toEqual([
      200,
      true,
      true,
    ])
  }
})

test('what is open is not counted before it is known', async () => {
  const { text } = await get('open', 'vera', await startConsole(async () => {}))
  expect(text).toContain('What is open is known after the next sync.')
  expect(text).not.toContain('0 open conversations')
})

test('who waited longest is one click from the report and the overview, and what is open from its number', async () => {
  const week = 'from=2025-12-29&to=2026-01-04'
  const report = linksOf((await get(`report?${week}`)).text)
  expect(report).toContain(`/console/p/main/waits?${week}`)
  const headers = { cookie: await console.signIn('vera') }
  const overview = linksOf((await console.ask('/console/p/main', { headers })).text)
  expect(overview).toContain('/console/p/main/open')
  // Without the navigation: the dates are those of the numbers beside it, once they are known.
  expect(overview.filter((to) => to.startsWith('/console/p/main/waits'))).toHaveLength(2)
  const { text } = await get(`waits?${week}`)
  expect(text.replace(/\s+/g, ' ')).toMatch(
    /6 waits.*conversations\/c0.*7 s<.*Answered by a human: <bdi>=HYPERLINK/,
  )
})

test('lists of what is open and of waits keep their filters in the address, and download by them', async () => {
  const filter = 'waiting=no&older=3600&assigned=none&origin=visitor_initiated&sort=silence'
  const open = await get(`open?${filter}`)
  expect(open.text).toContain('3 open conversations')
  expect(open.text.match(/<option value="[^"]+" selected/g)).toHaveLength(4)
  const file = linksOf(open.text).find((to) => to.includes('format=csv')) ?? ''
  expect(file).toBe(`/console/p/main/open?${filter}&format=csv`)
  const rows = (await get(file.slice('/console/p/main/'.length))).text.split('\r\n')
  expect(rows.slice(0, 2)).toEqual([
    '\uFEFFconversation_id,visitor_id,visitor_name,visitor_email,created_at,waiting_since,last_utterance_at,last_utterance_by,assigned_agent_id,likely_name,origin',
    `c0,v1,Secret Name,secret@example.com,${timeAt(0)},,${timeAt(7)},human,,,visitor_initiated`,
  ])
  expect(rows).toHaveLength(5)
  const asked = `waits?${january}&agent=Ann&ended=human`
  const waits = linksOf((await get(asked)).text).find((to) => to.includes('format=csv')) ?? ''
  const { text } = await get(waits.slice('/console/p/main/'.length))
  expect(text.split('\r\n').slice(0, 2)).toEqual([
    '\uFEFFconversation_id,wait_number,visitor_id,visitor_name,visitor_email,started_at,ended_at,ended_by,ended_by_name,seconds,human_seconds,assigned_agent_id,is_complete',
    `c2,1,v1,Secret Name,secret@example.com,${timeAt(0)},${timeAt(7)},human,Ann,7,7,,true`,
  ])
  expect(text.split('\r\n')).toHaveLength(5)
})

test('the page of calls says how many were missed', async () => {
  const { text } = await get(`calls?${january}&format=csv`)
  expect(text.split('\r\n').slice(1)).toEqual([
    'inbound,missed,2,0,0,0,0,,',
    ',completed,1,1,0,1,9,9,9',
    '',
  ])
})

test('the page of calls has the agents whom calls name, and their calls lead to the conversations of the callers', async () => {
  const { text: page } = await get(`calls?${january}`)
  expect([...page.matchAll(/<option value="([^"]+)"/g)].map(([, name]) => name)).toEqual(['Robin'])
  const { text: ofRobin } = await get(`calls?${january}&agent=Robin`)
  const [to = ''] = linksOf(ofRobin).filter((link) => link.includes('count=calls'))
  const { text: list } = await get(to.slice('/console/p/main/'.length))
  expect(list).toContain('3 conversations<')
  expect(list).toContain('All conversations of the visitors of these calls')
  expect((await get(`calls?${january}&agent=Ann`)).text).toContain(
    'Nothing of <bdi>Ann</bdi> was counted',
  )
})

test('the report is the document that the command writes, of the period that the address names', async () => {
  const page = await get(`report?${january}`)
  expect(page.text).toContain('main: 2026-01-01 to 2026-01-31')
  const { text: body, headers } = await get(`report?${january}&format=md`)
  expect(headers['content-type']).toBe('text/markdown; charset=utf-8')
  expect(body).toMatch(/^# main: 2026-01-01 to 2026-01-31\n/)
  expect((await get(`report?${january}&format=html`)).text).toMatch(/^<!doctype html>/)
})

test('who may not read messages sees no name of a visitor, neither in the list nor in the report', async () => {
  const access = {
    people: () => [person('hugo', 'viewer', true), person('vera', 'viewer')],
    httpToken: null,
  }
  const hidden = await startConsole(fill, { access })
  const pages = [
    `conversations?of=ai&${january}`,
    `report?${january}`,
    `report?${january}&format=html`,
  ]
  for (const path of pages)
    expect((await get(path, 'hugo', hidden)).text).not.toMatch(/Secret|secret@/)
  expect((await get(pages[0] ?? '', 'vera', hidden)).text).toContain('Secret Name')
})

test('… and on no screen what customers said, or who they are', async () => {
  const words = 'personal words'
  const access = {
    people: () => [person('hugo', 'approver', true), person('ann', 'approver')],
    httpToken: null,
  }
  // Markup in a text is marked, with what it probably was.
  const hidden = await startConsole((...of) => fillHostile(...of, `${words} &auml;`), { access })
  const { text: failed } = await get('writebacks?status=failed', 'ann', hidden)
  const writebacks = linksOf(failed).filter((to) => /\/writebacks\/[^/?]+$/.test(to))
  const retries = writebacks.map((to) => to.replace('/writebacks/', '/confirm?decision=retry&id='))
  const all = [
    ...screens,
    ...writebacks,
    ...retries,
    '/console/p/main/sheet',
    '/console/p/main/search?q=personal',
  ]
  const missing = projectScreens.filter(({ path }) => {
    const pattern = new RegExp(`^/console/p/main${path.replace(':id', '[^/]+')}([?]|$)`)
    return !all.some((screen) => pattern.test(screen))
  })
  expect(missing).toEqual([])
  const showing = async (name: string) => {
    const headers = { cookie: await hidden.signIn(name) }
    const texts = await Promise.all(
      all.map(async (path) => [path, (await hidden.ask(path, { headers })).text] as const),
    )
    return texts.flatMap(([path, text]) => (text.includes(words) ? [path] : []))
  }
  expect((await showing('ann')).length).toBeGreaterThan(5)
  expect(await showing('hugo')).toEqual([])
})

test('more days than a page has are cut, and the page says so', async () => {
  const cut = 'A page has at most 366 days'
  expect((await get('waits?from=2020-01-01&to=2026-01-31')).text).toContain(cut)
  expect((await get(`waits?${january}`)).text).not.toContain(cut)
})

test('what no table has is not found, and what no calendar has is the usual period', async () => {
  expect((await get('conversations?of=constructor')).status).toBe(404)
  expect((await get('conversations')).status).toBe(404)
  expect((await get("hours?from=2026-02-30&agent='--&sort=raw")).status).toBe(200)
  expect(
    (await get(`conversations?of=targets&${january}&sla='--&count=nothing&after=9`)).status,
  ).toBe(200)
})

test('of a project of which nothing has been read yet, no page says that nobody waits or that nothing is missing', async () => {
  const empty = await startConsole(async () => {})
  const texts = await Promise.all(
    ['', 'waiting', 'streams', 'report'].map((path) => get(path, 'vera', empty)),
  )
  for (const { text } of texts)
    expect(text).not.toMatch(/Nobody waits|>0<\/span><\/p>|Nothing is known to be missing/)
  for (const path of ['waiting', 'open', 'waits', 'charts', 'ai'])
    expect((await get(path, 'vera', empty)).text, path).toContain(
      'Conversations or messages have never been read to their end, so some may be missing.',
    )
  const dates = [...(texts[3]?.text ?? '').matchAll(/type="date" name="\w+" value="([^"]+)"/g)].map(
    ([, day]) => day,
  )
  expect(Date.parse(dates[1] ?? '') - Date.parse(dates[0] ?? '')).toBe(6 * 86_400_000)
})

test('numbers that cannot be counted are not said to be counted still', async () => {
  const broken = await startConsole(fill)
  for (const view of ['report_day', 'dim_project'])
    await broken.warehouse.query(`drop view ${view}`)
  expect((await get(`charts?${january}`, 'vera', broken)).status).toBe(503)
  const headers = { cookie: await broken.signIn('vera') }
  await waitUntil(async () =>
    (await broken.ask('/console/p/main', { headers })).text.includes('They cannot be counted: '),
  )
})
