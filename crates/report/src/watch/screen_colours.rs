//! Colours, where there may be any.

use ratatui::style::{Color, Modifier, Style};

/// Inks of the screen: colours, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScreenColours {
    pub colour: bool,
}

impl ScreenColours {
    pub fn of(self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    pub fn faint(self) -> Style {
        self.of(Color::DarkGray)
    }

    pub fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}
