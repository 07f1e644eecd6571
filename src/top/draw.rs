//! Draws the screen. It is made of lines, so that any size shows as much of it as fits.

use super::screen::Screen;
use super::text::{rates, title};
use super::units::{bytes, cut, percent, scaled, time};
use super::view::{Device, Kernel, Process};
use crate::render::terminal_text::to_ascii;
use ratatui::Frame;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Keys, as the last line names them.
const KEYS: &str = "q quit  ↑↓/tab process  s sort  p pause  +- window  f names  PgUp/PgDn scroll";
/// Columns of a bar.
const BAR: usize = 20;

/// Draws `screen` over all of the frame.
pub fn draw(frame: &mut Frame, screen: &Screen) {
    let area = frame.area();
    let lines = lines(screen, usize::from(area.width), usize::from(area.height));
    let lines = if screen.ascii { lines.into_iter().map(ascii).collect() } else { lines };
    frame.render_widget(Paragraph::new(lines), area);
}

/// The line in the characters that every terminal has.
fn ascii(line: Line<'static>) -> Line<'static> {
    let span = |span: Span<'static>| Span::styled(to_ascii(&span.content).into_owned(), span.style);
    Line { spans: line.spans.into_iter().map(span).collect(), ..line }
}

/// The lines of a screen of this size.
fn lines(screen: &Screen, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut lines = vec![head(screen)];
    let has_foot = height >= 4;
    let room = height.saturating_sub(usize::from(has_foot));
    match screen.process() {
        None => lines.push(Line::raw(screen.waiting.clone())),
        Some(process) => {
            if screen.processes.len() > 1 {
                lines.extend(processes(screen, (room / 3).max(1)));
            }
            lines.push(Line::styled(title(process), bold()));
            lines.push(Line::raw(rates(process)));
            lines.extend(process.devices.iter().map(device));
            lines.extend(process.notes.iter().map(|note| Line::styled(format!("note: {note}"), yellow())));
            let left = room.saturating_sub(lines.len());
            lines.extend(kernels(screen, process, width, left));
        }
    }
    lines.truncate(room);
    if has_foot {
        lines.resize(room, Line::default());
        lines.push(Line::styled(cut(KEYS, width), dim()));
    }
    lines
}

fn head(screen: &Screen) -> Line<'static> {
    let live = screen.processes.iter().filter(|process| process.state == "live").count();
    let count = screen.processes.len();
    let processes = if count == 1 { "process" } else { "processes" };
    let text = format!("gpuprof top   last {}   {count} {processes}, {live} live", time(screen.window_ns as f64));
    let mut spans = vec![Span::styled(text, bold())];
    if screen.paused {
        spans.push(Span::styled("   paused", yellow()));
    }
    Line::from(spans)
}

/// One line per process, as many as there is room for, the selected one among them.
fn processes(screen: &Screen, room: usize) -> Vec<Line<'static>> {
    let heading = format!(
        "  {:>8} {:>5} {:>10} {:>6} {:>9} {:>9} {:>6}  program",
        "pid", "rank", "state", "busy", "launch/s", "record/s", "lost"
    );
    let shown = room.saturating_sub(1).max(1);
    let selected = screen.selected.min(screen.processes.len().saturating_sub(1));
    let first = (selected + 1).saturating_sub(shown);
    let mut lines = vec![Line::styled(heading, dim())];
    for (i, process) in screen.processes.iter().enumerate().skip(first).take(shown) {
        let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let busiest = process.devices.iter().map(|device| device.busy_share).fold(0.0, f64::max);
        let name = process.program.clone().unwrap_or_else(|| process.path.display().to_string());
        let text = format!(
            "{} {:>8} {:>5} {:>10} {:>6} {:>9} {:>9} {:>6}  {name}",
            if i == selected { '>' } else { ' ' },
            number(process.pid),
            number(process.rank),
            process.state,
            percent(busiest),
            process.launches_per_s.map_or_else(|| "-".to_owned(), scaled),
            scaled(process.records_per_s),
            process.lost_records,
        );
        let style = if i == selected { bold() } else { Style::default() };
        lines.push(Line::styled(text, style));
    }
    lines
}

fn device(device: &Device) -> Line<'static> {
    let filled = ((device.busy_share.clamp(0.0, 1.0) * BAR as f64).round() as usize).min(BAR);
    let mut spans = vec![
        Span::raw(format!("GPU {:<3}", device.device)),
        Span::styled("█".repeat(filled), Style::default().fg(Color::Green)),
        Span::styled("░".repeat(BAR - filled), dim()),
        Span::styled(format!(" {:>6} busy", percent(device.busy_share)), bold()),
    ];
    spans.extend(device.name.iter().map(|name| Span::raw(format!("  {name}"))));
    for copies in &device.copies {
        spans.push(Span::raw(format!("   {} {}/s", copies.direction, bytes(copies.bytes_per_s))));
    }
    Line::from(spans)
}

fn kernels(screen: &Screen, process: &Process, width: usize, room: usize) -> Vec<Line<'static>> {
    let mut rows: Vec<&Kernel> = process.kernels.iter().collect();
    screen.sort.sort(&mut rows);
    let mark = |name: &str| if name == screen.sort.column() { format!("{name}*") } else { name.to_owned() };
    let columns = [mark("total"), mark("count"), mark("mean"), mark("max"), mark("kernel")];
    let [total, count, mean, max, name] = columns;
    let heading = format!("{:>8} {total:>9} {count:>7} {mean:>9} {max:>9} GPU  {name}", "window");
    let mut lines = vec![Line::default(), Line::styled(heading, dim())];
    if rows.is_empty() {
        lines.push(Line::raw(format!("no kernel started in the last {}", time(process.window_ns as f64))));
    }
    for kernel in rows.iter().skip(screen.scrolled).take(room.saturating_sub(lines.len())) {
        let figures = format!(
            "{:>8} {:>9} {:>7} {:>9} {:>9} {:>3}  ",
            percent(kernel.window_share),
            time(kernel.total_ns as f64),
            scaled(kernel.count as f64),
            time(kernel.mean_ns),
            time(kernel.max_ns as f64),
            kernel.device,
        );
        let name = if screen.full_names { &kernel.name } else { &kernel.brief_name };
        // Names come from programs: what would move the cursor is no part of a name.
        let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let name = cut(&name, width.saturating_sub(figures.chars().count()));
        lines.push(Line::from(vec![Span::raw(figures), Span::styled(name, Style::default().fg(Color::Cyan))]));
    }
    lines
}

fn bold() -> Style {
    Style::default().add_modifier(Modifier::BOLD)
}

fn dim() -> Style {
    Style::default().add_modifier(Modifier::DIM)
}

fn yellow() -> Style {
    Style::default().fg(Color::Yellow)
}
