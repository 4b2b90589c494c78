/**
 * A support head's Monday, in a real Chromium, with a worker process, Postgres and Redis: who
 * waited longest, and replies from a workbook that a second person approves.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { toTimestamp } from '../../src/values/time.ts'
import { openPage } from '../console/open-page.ts'
import { launchBrowser } from '../support/browser.ts'
import { sampledCount } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { startChannel } from '../worker/channel.ts'
import { workerStores } from '../worker/fixtures.ts'
import { startWorkerProcess } from '../worker/worker-process.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

const hour = 3_600_000
/** More than 50, as only then the number is to be typed. */
const replies = sampledCount(51, 200)
const waiting = replies + 3

const configuration = `
streams: [conversations, messages, visitors]
console:
  people:
    - { name: mia, role: approver, reply_as: Mia, token: { env: MIA_TOKEN } }
    - { name: ben, role: approver, token: { env: BEN_TOKEN } }
approve_own: off
approve_grace: off
reply_as: The shop
replies:
  late: "Dear {{name}}, we are sorry: your parcel is late. {{sender}}"
`

/** Visitors wrote over six days, and none was answered but one; the last one gave no name. */
async function startShop() {
  const shop = await startSandbox({
    now: toTimestamp(Date.now() - 6 * 24 * hour),
    size: { conversations: 0, visitors: 0, calls: 0, days: 1 },
    switches: { 'rate.kind': 'off' },
  })
  onTestFinished(shop.stop)
  const asks = (name: string | null) =>
    shop.mutate.addConversation(shop.mutate.addVisitor({ name }).id, 'Where is my parcel?').id
  const answered = asks('Ada')
  shop.advance(hour)
  shop.mutate.agentReplies(answered)
  for (let n = 0; n < waiting; n++) {
    asks(n === 0 ? 'Zoë & Søn' : n === replies ? null : `Visitor ${n}`)
    shop.advance(Math.floor((6 * 24 - 1) * hour) / waiting)
  }
  return shop
}

/** As a script does it, or a person who drags a cell down: the rest of the file is as it was. */
function fillColumn(path: string, header: string, rows: number, value: string): string {
  const sheet = 'xl/worksheets/sheet1.xml'
  const parts = unzipSync(readFileSync(path))
  const xml = strFromU8(parts[sheet]!)
  const [, column] = xml.match(new RegExp(`<c r="([A-Z])1"[^>]*><is><t>${header}</t>`)) ?? []
  const filled = xml.replace(/<row r="(\d+)">(.*?)<\/row>/gs, (whole, row, cells: string) => {
    if (row === '1' || Number(row) > rows + 1) return whole
    const cell = `<c r="${column}${row}" t="inlineStr"><is><t>${value}</t></is></c>`
    const all = [...(cells.match(/<c .*?<\/c>/gs) ?? []), cell]
    return `<row r="${row}">${all.toSorted().join('')}</row>`
  })
  const target = path.replace('.xlsx', `-${rows}.xlsx`)
  writeFileSync(target, zipSync({ ...parts, [sheet]: strToU8(filled) }))
  return target
}

/** Reloaded until it says so, as a page of numbers shows what was so when it was opened. */
const seesSoon = async (page: Page, text: string | RegExp) => {
  const reloaded = async () => {
    await page.reload()
    return page.locator('main').textContent()
  }
  await expect.poll(reloaded, { interval: 1000 }).toMatch(text)
}

test(`${replies} replies from a workbook reach each visitor once, after a second person approved them`, async () => {
  const stores = await workerStores.find(({ kind }) => kind === 'redis')!.make()
  onTestFinished(stores.drop)
  const shop = await startShop()
  const channel = await startChannel()
  const cwd = createTempFolder()
  writeFileSync(join(cwd, 'deskmirror.yaml'), configuration)
  const worker = startWorkerProcess({ ...stores, cwd }, shop, {
    // The window is short, as the budget records every request of a window.
    DESKMIRROR_RATE: '1000000000/1s',
    DESKMIRROR_WRITE_RATE: '1000000000/1s',
    DESKMIRROR_SCHEDULE_INCREMENTAL: '10s',
    DESKMIRROR_VERIFY_AFTER: '1s',
    MIA_TOKEN: 'mia-token',
    BEN_TOKEN: 'ben-token',
    DESKMIRROR_NOTIFY: channel.notify.reveal(),
  })
  const { address } = await worker.waitFor(({ event }) => event === 'http.opened')
  const signIn = async (name: string) => {
    const page = await openPage(browser, { address: String(address) }, null)
    await page.goto(`${address}/console`)
    await page.getByLabel('Your name').fill(name)
    await page.getByLabel('Token').fill(`${name}-token`)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    return page
  }
  await worker.waitFor(({ event }) => event === 'sync.ended')

  const mia = await signIn('mia')
  const main = mia.locator('main')
  await main.locator('.tiles li', { hasText: 'Waiting now' }).getByText(`${waiting}`).waitFor()
  await main.getByRole('link', { name: 'Open now' }).click()
  await main.getByRole('heading', { name: `${waiting + 1} open conversations` }).waitFor()
  await mia.goBack()
  await main.getByRole('link', { name: 'Who waited longest' }).click()
  const longest = main.locator('tbody tr').first()
  expect(await longest.textContent()).toMatch(/Zoë & Søn.*so far.*Not answered yet/s)

  await mia.getByRole('link', { name: 'Waiting', exact: true }).click()
  const download = mia.waitForEvent('download')
  await main.getByRole('link', { name: 'Download all to answer as a workbook' }).click()
  const sheet = join(cwd, 'waiting.xlsx')
  await (await download).saveAs(sheet)

  const importFile = async (path: string) => {
    await main.getByLabel('The file').setInputFiles(path)
    await main.getByRole('button', { name: 'Import as drafts' }).click()
  }
  await main.getByRole('link', { name: 'Import the answers…' }).click()
  await importFile(fillColumn(sheet, 'template', waiting, 'late'))
  await main.getByText(`1 of ${waiting} filled rows has a mistake`).waitFor()
  await main.getByText('has {{name}}, which the mirror does not know of this visitor').waitFor()
  await importFile(fillColumn(sheet, 'template', replies, 'late'))
  await main.getByText('3 rows of the file without a reply or a flag were left out').waitFor()
  await main.getByText('Dear Zoë & Søn, we are sorry: your parcel is late. Mia').first().waitFor()
  await main.getByText('You queued it, so another approver has to approve it: ben').waitFor()
  expect(await main.getByRole('link', { name: 'Approve' }).count()).toBe(0)
  // Nor by its address.
  await mia.goto(mia.url().replace(/batches\/([^?]+).*/, 'confirm?decision=approve&batch=$1'))
  await main.getByText('Nobody approves what they queued themselves').waitFor()
  expect(await main.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  await expect
    .poll(() => channel.texts.filter((text) => text.includes('A batch waits for approval')).length)
    .toBe(1)

  const ben = await signIn('ben')
  await ben.getByText(`${replies} drafts wait for an approver.`).waitFor()
  await ben.getByRole('link', { name: 'Review' }).click()
  await ben.locator('main tbody a').first().click()
  await ben.getByRole('link', { name: 'Approve' }).first().click()
  await ben.getByLabel('Write the number of write-backs').fill(`${replies}`)
  await ben.getByRole('button', { name: `Approve ${replies} replies` }).click()
  const settled = () => worker.log.filter(({ event }) => event === 'writeback.settled').length
  while (settled() < replies) await worker.waitForNext()
  await ben.getByText(`${replies} of ${replies} settled`).waitFor({ timeout: 120_000 })
  await ben.getByText(`succeeded (${replies})`).waitFor()
  const sent = shop.ledger().map(({ params }) => params['conversationId'])
  expect([sent.length, new Set(sent).size]).toEqual([replies, replies])

  await mia.goBack()
  await mia.getByRole('link', { name: 'Longest waits' }).click()
  await seesSoon(mia, /Answered by a human: Mia/)
  await main.locator('tbody tr', { hasText: 'Zoë' }).getByRole('link', { name: 'visitor' }).click()
  await main.getByText('1 reply was sent to this visitor, once.').waitFor()
  const posted = channel.texts.join()
  expect(posted.match(/A batch waits for approval/g)).toHaveLength(1)
  expect(posted).not.toMatch(/parcel|Visitor|Zoë/)
  expect([mia.violations, ben.violations]).toEqual([[], []])
})
