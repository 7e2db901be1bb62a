//! Series in files: reads a series of the user, from a column of a CSV file or one number per line,
//! and writes simulated ones for other programs.

use std::error::Error;
use std::fmt::Write as _;

use crate::cases::Case;
use crate::methods::Method;

/// Prints the shifts that each method finds in a column of positive numbers. The first line names
/// the columns; without `column` every line is a number.
pub(crate) fn shifts_of(file: &str, column: Option<&str>) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let mut lines = text.lines();
    let at = match column {
        None => 0,
        Some(name) => {
            let mut head = lines.next().unwrap_or_default().split(',');
            head.position(|heading| heading == name)
                .ok_or(format!("{file} has no column {name}"))?
        }
    };
    let number = |line: &str| {
        let field = line.split(',').nth(at).unwrap_or_default().trim();
        let number = field.parse::<f64>().ok().filter(|number| *number > 0.0);
        number.map(f64::ln).ok_or(format!("{file}: {field:?} is not a positive number"))
    };
    let values: Vec<f64> = lines.map(number).collect::<Result<_, String>>()?;
    println!("{} points", values.len());
    for method in Method::ALL {
        let shifts = method.shifts(&values, 1);
        println!("{}: {shifts:?}", method.name());
    }
    Ok(())
}

/// Writes `each` series of every case, one per line, as name; edges; values.
pub(crate) fn write(file: &str, cases: &[Case], each: u64) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    for case in cases {
        for seed in 0..each {
            let drawn = case.draw(seed);
            let edges: Vec<String> = drawn.edges.iter().map(usize::to_string).collect();
            let values: Vec<String> = drawn.values.iter().map(f64::to_string).collect();
            writeln!(text, "{};{};{}", case.name(), edges.join(","), values.join(","))?;
        }
    }
    Ok(std::fs::write(file, text)?)
}
